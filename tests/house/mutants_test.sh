#!/bin/sh
# The mutants that scripts/mutants draws: the same for the same seed, others for another, each another change of a line
# of the layers that are asked for.
set -eu
mutants=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$mutants" --list >"$folder/first"
"$mutants" --list >"$folder/again"
"$mutants" --list --seed 2 >"$folder/other"
cmp "$folder/first" "$folder/again" || { echo "the same seed drew other mutants"; exit 1; }
! cmp -s "$folder/first" "$folder/other" || { echo "another seed drew the same mutants"; exit 1; }
[ "$(wc -l <"$folder/first")" = 180 ] || { echo "60 mutants were asked for"; exit 1; }
for layer in comm sample buffer steer train; do
    count=$(grep -c "^  src/$layer/" "$folder/first") || true
    [ "$count" = 12 ] || { echo "$count of 12 mutants in $layer"; exit 1; }
done
awk '/^  src/ { place = $0 } /^      - / { old = substr($0, 9) } /^      \+ / {
    if (old == substr($0, 9)) { print "no change: " place; bad = 1 }
    if (seen[place $0]++) { print "drawn twice: " place; bad = 1 }
} END { exit bad }' "$folder/first"
"$mutants" --list --layers comm --count 3 | grep -c '^  src/comm/' | grep -qx 3
! "$mutants" --list --layers nothing 2>/dev/null || { echo "an unknown layer was taken"; exit 1; }
# Entries of explained survivors: read, and refused where the source has no such line, or the form is another.
"$mutants" --list --count 1 >"$folder/one"
{
    sed -n 's/^  \(src[^:]*\):.*/\1/p; s/^      \([-+] .*\)/\1/p' "$folder/one"
    echo "Nobody could tell."
} >"$folder/explained"
"$mutants" --list --count 1 --explained "$folder/explained" >/dev/null
sed -i 's/^- .*/- no such line/' "$folder/explained"
! "$mutants" --list --count 1 --explained "$folder/explained" >/dev/null 2>&1 || { echo "a line that has gone was taken"; exit 1; }
echo "src/comm/inbox.cpp" >"$folder/explained"
! "$mutants" --list --count 1 --explained "$folder/explained" >/dev/null 2>&1 || { echo "an entry without a reason was taken"; exit 1; }
# Results: those of lines that have gone are left out, a survivor is found again where its line has moved.
python3 - "$mutants" "$folder" <<'EOF'
import importlib.machinery, importlib.util, json, pathlib, sys
loader = importlib.machinery.SourceFileLoader("mutants", sys.argv[1])
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
sys.dont_write_bytecode = True
loader.exec_module(mutants)
mutants.ROOT = pathlib.Path(sys.argv[2])
(mutants.ROOT / "a.cpp").write_text("int f() {\n    // new\n    return 1 + 2;\n}\n")
made = {"slot": 7, "layer": "comm", "file": "a.cpp", "line": 2, "what": "+ to -", "old": "return 1 + 2;", "new": "return 1 - 2;",
        "result": "survived", "seconds": 1}
lines = [made, {**made, "slot": 8, "old": "return 3;", "new": "return 4;"}, {**made, "line": 3, "result": "caught"}]
results = mutants.ROOT / "results.jsonl"
results.write_text("".join(json.dumps(line) + "\n" for line in lines))
assert mutants.read_results(results) == [lines[2]], mutants.read_results(results)
again = mutants.once_more(made)
assert again["line"] == 3 and again["text"] == "    return 1 - 2;" and "result" not in again, again
EOF
