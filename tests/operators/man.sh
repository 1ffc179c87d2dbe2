#!/bin/sh
# The manual pages: one for the program and each verb, with every option of --help, and nothing that groff warns of.
#
#   man.sh RUDDER
set -eu
rudder=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$rudder" completion man --out "$place/man"
cd "$place/man"
[ "$("$rudder" completion man)" = "$(cat rudder.1)" ] || { echo "rudder.1 is not what is printed"; exit 1; }
"$rudder" --help | sed -n '/^Verbs:/,/^$/s/^  \(.\{13\}\) .*/\1/p' | sed 's/ *$//' >"$place/verbs"
[ "$(wc -l <"$place/verbs")" -ge 17 ] || { cat "$place/verbs"; exit 1; }
while read -r verb; do
    page=rudder-$(echo "$verb" | tr ' ' -).1
    grep -q "^\.BR $(echo "${page%.1}" | sed 's/-/\\\\-/g') (1)" rudder.1 || { echo "rudder.1 does not name $page"; exit 1; }
    text=$(cat "$page")
    # shellcheck disable=SC2086
    "$rudder" $verb --help | grep -o '^ *-[-,a-zA-Z]*' | sed 's/ //g; s/.*,//; s/-/\\-/g; s/$/\\fR/' >"$place/options"
    while read -r option; do
        case "$text" in *"$option"*) ;; *) echo "$page lacks $option"; exit 1 ;; esac
    done <"$place/options"
done <"$place/verbs"
[ "$(ls | wc -l)" = $(($(wc -l <"$place/verbs") + 1)) ] || { ls; exit 1; }
command -v groff >/dev/null || { echo "SKIPPED: groff is not installed, which reads the pages"; exit 0; }
said=$(groff -man -ww -Tutf8 -z ./*.1 2>&1)
[ -z "$said" ] || { echo "groff: $said"; exit 1; }
groff -man -Tutf8 -P-cbou rudder-train.1 | grep -q 'PATH' || { echo "groff shows no page"; exit 1; }
echo "$(ls | wc -l) pages"
