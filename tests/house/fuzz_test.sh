#!/bin/sh
# scripts/fuzz, with a program in the place of a fuzzer: executions add up over calls, as many are asked for as are wanted,
# and a finding ends with 1.
set -eu
fuzz=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/tests/fuzz"
# It executes as often as -runs= says (100 times without a limit), and finds something where a file says so.
cat >"$folder/tests/fuzz/fuzz_made_up" <<'EOF'
#!/bin/sh
runs=100
for word in "$@"; do
    case $word in -runs=-1) ;; -runs=*) runs=${word#-runs=} ;; -max_total_time=*) echo "limit ${word#*=}" ;; esac
done
echo "stat::number_of_executed_units: $runs"
echo "stat::average_exec_per_sec:     7"
if [ -e "$0.finds" ]; then echo "Test unit written to here/crash"; exit 77; fi
EOF
chmod +x "$folder/tests/fuzz/fuzz_made_up"
export FUZZ_BUILD="$folder"
unset FUZZ_SECONDS FUZZ_RUNS FUZZ_TOTAL FUZZ_JOBS

expect() {
    "$fuzz" made_up >"$folder/out" || { cat "$folder/out"; echo "ended with $?"; exit 1; }
    grep -q "^made_up $1 *7 $2  nothing$" "$folder/out" || { cat "$folder/out"; echo "not $1 and $2"; exit 1; }
}
expect ' *100' ' *100'
grep -qx 'limit 60' "$folder/logs/made_up.log"
FUZZ_RUNS=250 expect ' *250' ' *350'
grep -qx 'limit 0' "$folder/logs/made_up.log"
FUZZ_TOTAL=1000 expect ' *650' ' *1000'
FUZZ_TOTAL=1000 "$fuzz" made_up >"$folder/out"  # it has them
grep -q '^made_up  *-  *-  *1000  nothing$' "$folder/out" || { cat "$folder/out"; exit 1; }
grep -qx '1 fuzzers, 1000 executions in all' "$folder/out"
FUZZ_RUNS=5 FUZZ_SECONDS=9 expect ' *5' ' *1005'
grep -qx 'limit 9' "$folder/logs/made_up.log"
touch "$folder/tests/fuzz/fuzz_made_up.finds"
code=0
"$fuzz" made_up >"$folder/out" || code=$?
[ "$code" = 1 ] || { echo "a finding ended with $code"; exit 1; }
grep -q 'FOUND here/crash' "$folder/out"
! "$fuzz" nothing 2>/dev/null || { echo "an unknown fuzzer was taken"; exit 1; }
! FUZZ_RUNS=many "$fuzz" made_up 2>/dev/null || { echo "an invalid number was taken"; exit 1; }
