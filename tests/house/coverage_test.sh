#!/bin/sh
# scripts/coverage ends with 1 below what is promised of the layers from core to steer, and does not look at the others.
set -eu
coverage=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# expect CODE WORD LINES BRANCHES: of 1000 each of a file of core, while nothing of cli was reached
expect() {
    cat >"$folder/counts.json" <<EOF
{"files": [{"filename": "src/core/a.cpp", "line_total": 600, "line_covered": $(($3 - 400)), "branch_total": 500, "branch_covered": $(($4 - 500))},
           {"filename": "include/rudder/steer/b.hpp", "line_total": 400, "line_covered": 400, "branch_total": 500, "branch_covered": 500},
           {"filename": "src/cli/c.cpp", "line_total": 9999, "line_covered": 0, "branch_total": 9999, "branch_covered": 0}]}
EOF
    code=0
    "$coverage" --counts "$folder/counts.json" >"$folder/out" || code=$?
    [ "$code" = "$1" ] || { cat "$folder/out"; echo "$3 lines and $4 branches: $code"; exit 1; }
    grep -q "$2" "$folder/out" || { cat "$folder/out"; echo "nothing of '$2'"; exit 1; }
}
expect 0 'core to steer .* 92.0 % .* 80.0 %' 920 800
expect 1 'core to steer, line: 91.90 % reached, 92 % are promised' 919 900
expect 1 'core to steer, branch: 79.90 % reached, 80 % are promised' 999 799
