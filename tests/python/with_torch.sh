#!/bin/sh
# Installs the package of this tree, PyTorch for processors and PyTorch Geometric into build/python-env, and runs the
# package's tests there, those with tensors and the examples under torchrun included.
set -eu
cd "$(dirname "$0")/../.."
env=build/python-env
[ -x $env/bin/python ] || python3 -m venv $env
$env/bin/python -m pip install -q --disable-pip-version-check --no-input \
    torch==2.13.0 torch_geometric numpy pandas tqdm
$env/bin/python -m pip install -q --disable-pip-version-check --no-input .
program=$PWD/build/release/src/cli/rudder
[ -x "$program" ] || { echo "with_torch: no program at $program; run make program first" >&2; exit 1; }
export RUDDER_PROGRAM="$program"
for name in api dataset dgl example figures folder links loader own ranks runs stubs torch typed; do
    echo "tests/python/${name}_test.py"
    $env/bin/python tests/python/${name}_test.py
done
if [ -d build/release/python/rudder ]; then
    echo "tests/python/mpi_test.py, on the tree's own build, which has MPI"
    $env/bin/python -m pip install -q --disable-pip-version-check --no-input mpi4py
    PYTHONPATH=build/release/python $env/bin/python tests/python/mpi_test.py
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" generate sbm "$work/graph" --vertices 4000 --features structure:32 >/dev/null
"$program" partition "$work/graph" "$work/parts" --parts 4 >/dev/null
echo "bench/python/bench_python.py, our side alone, on a tiny graph"
$env/bin/python bench/python/bench_python.py "$work/parts" --python $env/bin/python --sides rudder --rounds 1 --epochs 2 \
    --hidden 16 --batch 100 --fanout 5,5
$env/bin/torchrun --nproc-per-node 4 examples/python/sage_ddp.py "$work/parts" 3
$env/bin/python examples/python/sage_numpy.py "$work/parts" 3
$env/bin/torchrun --nproc-per-node 2 examples/python/ddp_after.py "$work/parts" 2
$env/bin/python examples/python/gat.py "$work/parts" 2
$env/bin/torchrun --nproc-per-node 2 examples/python/own_agent.py "$work/parts"
