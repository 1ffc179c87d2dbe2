#!/bin/bash
# Runs the batch script with a make-believe Slurm: srun is mpirun on this machine, and the signal before the time limit
# comes after a few seconds.
#
#   slurm.sh RUDDER SOURCE_FOLDER
set -euo pipefail
rudder=$1
script=$2/examples/slurm/train.sbatch
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

fail() { echo "$*"; cat log 2>/dev/null; exit 1; }
bash -n "$script"
# Every option of Slurm stands before the first command, or Slurm does not read it.
awk '/^#SBATCH/ && seen {exit 1} !/^#/ && NF {seen = 1}' "$script" || fail "an #SBATCH line comes too late"

mkdir bin
cat >bin/srun <<'S'
#!/bin/bash
while [[ ${1:-} == --* ]]; do
    [[ $1 == --mpi=* && $1 != --mpi=pmix ]] && { echo "what is $1?"; exit 1; }
    [[ $1 == --mpi=pmix ]] && ranks=$SLURM_NTASKS
    shift
done
[[ -z ${ranks:-} ]] && exec "$@"
root=(); [[ $(id -u) == 0 ]] && root=(--allow-run-as-root)
exec mpirun "${root[@]}" --oversubscribe --bind-to none --mca odls_base_sigkill_timeout 6 -n "$ranks" "$@"
S
cat >bin/scontrol <<'S'
#!/bin/bash
echo "$*" >>"$SCONTROL_LOG"
S
chmod +x bin/*
export PATH="$place/bin:$PATH" SLURM_NTASKS=2 SLURM_CPUS_PER_TASK=1 SLURM_JOB_ID=17 SCONTROL_LOG=$place/scontrol.log
export RUDDER=$rudder PARTS=$place/parts RUN=$place/run
[[ $(id -u) == 0 ]] && export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1

"$rudder" generate sbm graph --vertices 2000 --quiet
"$rudder" partition graph parts --parts 2 --quiet
options=(--ranks-per-host 1 --batch 20 --hidden 16 --eval-every 0 --quiet)

# Time is up after a while: a checkpoint is written and the job goes back into the queue. mpirun passes the signal on after
# 6 seconds and kills after 6 more; with this link the epochs take over 10.
epochs=30
bash "$script" "${options[@]}" --epochs $epochs --link 5ms,1gbit >log 2>&1 &
job=$!
for _ in $(seq 600); do [[ -s run/metrics.jsonl ]] && break; sleep 0.1; done
kill -TERM $job
wait $job || fail "the script ended with $?"
grep -q 'requeue 17' scontrol.log || fail "it was not put back into the queue"
ls run/checkpoints/step-* >/dev/null || fail "no checkpoint"
[[ ! -e run/summary.json ]] || fail "a run that was cut has a summary"

# In the queue again it goes on from there and comes to its end, with the losses of a run that was left alone.
number() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$2" | head -1; }
digest() { grep -o '"digest": *"[^"]*"' "$1/summary.json"; }
reached=$(ls -d run/checkpoints/step-* | tail -1 | sed 's/.*-0*//')
rm scontrol.log
bash "$script" "${options[@]}" --epochs $epochs >log 2>&1 || fail "the script ended with $?"
[[ -e run/summary.json && ! -e scontrol.log ]] || fail "it did not finish"
[[ $(number resumed_at run/summary.json) == "$reached" ]] || fail "it did not go on from step $reached"
"$rudder" train parts --out alone "${options[@]}" --epochs $epochs >log 2>&1 || fail "the run left alone ended with $?"
[[ -n $(digest run) && $(digest run) == "$(digest alone)" ]] || fail "resumed: $(digest run), left alone: $(digest alone)"
bash "$script" "${options[@]}" --epochs $epochs >log 2>&1 || fail "a finished run is not finished"

# A copy of the parts on every node's own disk.
RUN=$place/copied LOCAL=$place/local bash "$script" "${options[@]}" --epochs 1 >log 2>&1 || fail "with a copy: $?"
grep -q "$place/local/parts" copied/summary.json || fail "the local copy was not used"

# A run that fails is not put back.
code=0
RUN=$place/other PARTS=$place/nowhere bash "$script" "${options[@]}" >log 2>&1 || code=$?
[[ $code != 0 && ! -e scontrol.log ]] || fail "a failure gave $code"

# The other launcher.
LAUNCHER=mpirun RUN=$place/third bash "$script" "${options[@]}" --epochs 1 >log 2>&1 || fail "mpirun: $?"
[[ -e third/summary.json ]] || fail "mpirun did not finish"
echo "stopped at step $reached, queued again, finished"
