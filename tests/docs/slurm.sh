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
# srun as it is since Slurm 22.05: the cores of a task are those of its own option or of SRUN_CPUS_PER_TASK, never of the
# job's SLURM_CPUS_PER_TASK; without either a task has one. It knows the options of srun that a batch script may use.
cat >bin/srun <<'S'
#!/bin/bash
cpus=${SRUN_CPUS_PER_TASK:-1} mpi=none
while [[ ${1:-} == -* ]]; do
    case $1 in
        --mpi=pmix | --mpi=none) mpi=${1#*=} ;;
        --mpi=*) echo "srun: error: Couldn't find the specified plugin name for mpi/${1#*=}" >&2; exit 1 ;;
        --cpus-per-task=*) cpus=${1#*=} ;;
        -c) cpus=$2; shift ;;
        --cpu-bind=none | --ntasks-per-node=*) ;;
        *) echo "srun: unrecognized option '$1'" >&2; exit 1 ;;
    esac
    shift
done
export SLURM_CPUS_PER_TASK=$cpus
echo "$mpi $cpus" >>"$SRUN_LOG"
[[ $mpi == none || -n ${SRUN_ONE_TASK:-} ]] && exec "$@"
root=(); [[ $(id -u) == 0 ]] && root=(--allow-run-as-root)
exec mpirun "${root[@]}" --oversubscribe --bind-to none --mca odls_base_sigkill_timeout 6 \
    -n "$SLURM_NTASKS" "$@"
S
cat >bin/scontrol <<'S'
#!/bin/bash
[[ -n ${SCONTROL_REFUSES:-} ]] && { echo "Requested operation is presently disabled" >&2; exit 1; }
echo "$*" >>"$SCONTROL_LOG"
S
chmod +x bin/*
export PATH="$place/bin:$PATH" SLURM_NTASKS=2 SLURM_CPUS_PER_TASK=2 SLURM_JOB_ID=17 SCONTROL_LOG=$place/scontrol.log
export SRUN_LOG=$place/srun.log
export RUDDER=$rudder PARTS=$place/parts RUN=$place/run
[[ $(id -u) == 0 ]] && export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1

"$rudder" generate sbm graph --vertices 2000 --quiet
"$rudder" partition graph parts --parts 2 --quiet

# Where nobody says so, a step of such a Slurm has one core per task, whatever the job has.
srun --mpi=none true && grep -qx 'none 1' srun.log || fail "the make-believe srun takes cores from the job"
rm srun.log

options=(--ranks-per-host 1 --batch 20 --hidden 16 --eval-every 0 --quiet)

# Time is up after a while: a checkpoint is written and the job goes back into the queue. mpirun passes the signal on after
# 6 seconds and kills after 6 more; with this link the epochs take over 15.
epochs=45
bash "$script" "${options[@]}" --epochs $epochs --link 5ms,1gbit >log 2>&1 &
job=$!
for _ in $(seq 600); do [[ -s run/metrics.jsonl ]] && break; sleep 0.1; done
kill -TERM $job
wait $job || fail "the script ended with $?"
grep -q 'requeue 17' scontrol.log || fail "it was not put back into the queue"
ls run/checkpoints/step-* >/dev/null || fail "no checkpoint"
[[ $(sort -u srun.log) == "pmix 2" ]] || fail "a rank has $(sort -u srun.log) cores, the job gave it 2"
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

# Time that is too short for one checkpoint would never be enough: not queued again. Nor is it said to be where Slurm refuses.
cat >program <<'S'
#!/bin/bash
[[ $SRUN_CPUS_PER_TASK == 2 && "$*" == *"--threads 2"* ]] || exit 9
trap '[[ -n ${LEAVES:-} ]] && mkdir -p "$RUN/checkpoints/step-$LEAVES"; exit 5' TERM
touch "$RUN.started"
for _ in $(seq 600); do sleep 0.1; done
S
chmod +x program
# cut_short [NAME=VALUE...]: the exit code of a job whose time is up as soon as it runs
cut_short() {
    rm -f "$place/short.started"
    env RUDDER="$place/program" RUN="$place/short" SRUN_ONE_TASK=1 "$@" bash "$script" >log 2>&1 &
    local job=$! code=0
    for _ in $(seq 600); do [[ -e short.started ]] && break; sleep 0.1; done
    kill -TERM $job
    wait $job || code=$?
    echo "$code"
}
rm -f scontrol.log
[[ $(cut_short) == 1 && ! -e scontrol.log ]] || fail "queued again without a checkpoint"
grep -q 'more time' log || fail "it is not said that the time is too short"
[[ $(cut_short LEAVES=7 SCONTROL_REFUSES=1) == 1 ]] || fail "Slurm refused, and the script ended well"
[[ $(cut_short LEAVES=8) == 0 ]] && grep -q 'requeue 17' scontrol.log || fail "a checkpoint more, and it is not queued again"

# The other launcher.
LAUNCHER=mpirun RUN=$place/third bash "$script" "${options[@]}" --epochs 1 >log 2>&1 || fail "mpirun: $?"
[[ -e third/summary.json ]] || fail "mpirun did not finish"
echo "stopped at step $reached, queued again, finished"
