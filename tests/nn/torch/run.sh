#!/bin/sh
# Scores, losses and gradients of every model, on the CPU and on the twin of a GPU, against PyTorch's autograd.
#
#   run.sh DUMP_PROGRAM CACHE_FOLDER
set -eu
dump=$1
cache=$2
here=$(cd "$(dirname "$0")" && pwd)

. "$here/../../support/venv.sh"
need_packages "$here" "$cache" PyTorch

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for where in cpu twin; do
    "$dump" "$place" "$where"
    "$cache/venv/bin/python" "$here/compare.py" "$place"
done
