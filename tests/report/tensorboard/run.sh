#!/bin/sh
# A run that is cut and goes on, read by TensorBoard's own reader and held against metrics.jsonl.
#
#   run.sh RUDDER CACHE_FOLDER [--installed]
#
# With --installed it is skipped unless the reader is there already.
set -eu
program=$1
cache=$2
here=$(cd "$(dirname "$0")" && pwd)
venv=$cache/venv

. "$here/../../support/venv.sh"
if [ "${3:-}" = --installed ] && ! installed "$here" "$cache"; then
    echo "SKIPPED: TensorBoard is not installed yet; make test-long does it"
    exit 0
fi
need_packages "$here" "$cache" TensorBoard

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$program" generate sbm graph --vertices 800 --seed 5 --quiet
"$program" partition graph parts --parts 2 --method ldg --quiet
ranks=
if command -v mpirun >/dev/null; then ranks="--ranks 2"; fi
train() {
    # shellcheck disable=SC2086  # two words or none
    "$program" train parts --epochs 4 --batch 20 --hidden 16 --fanout 4,6 --out run --quiet $ranks "$@"
}
train
# As if it had been killed after the checkpoint before the last: steps are taken again.
rm -r run/summary.json "run/checkpoints/$(ls run/checkpoints | grep '^step-' | tail -n 1)"
train --resume
[ "$(ls run | grep -c tfevents)" = 2 ]
"$venv/bin/python" "$here/check.py" run
