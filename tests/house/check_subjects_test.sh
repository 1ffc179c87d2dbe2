#!/bin/sh
# Commits with subjects of 72 and of 73 columns, and what scripts/check-subjects says of each.
set -eu
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/scripts"
cp "$check" "$tree/scripts/check-subjects"
cd "$tree"
commit() { git -c user.name=t -c user.email=t@example.org -c core.hooksPath=/dev/null commit -q --allow-empty -m "$1"; }
git init -q
commit "$(printf 'o%.0s' $(seq 90))"
first=$(git rev-parse HEAD)
commit "$(printf 'a%.0s' $(seq 72))"
scripts/check-subjects "$first" | grep -q '^1 subjects within 72 columns$'
commit "$(printf 'b%.0s' $(seq 73))"
! said=$(scripts/check-subjects "$first")
case "$said" in *': 73 columns: bbb'*) ;; *) echo "did not name the long subject: $said"; exit 1 ;; esac
scripts/check-subjects 0000000000000000000000000000000000000001 | grep -q '^SKIPPED'
