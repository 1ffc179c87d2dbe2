"""Processes of mpirun with mpi4py: its communicator is duplicated, and MPI goes on afterwards (make test-python)."""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402

script = """
import json, sys
from mpi4py import MPI
import rudder
world = MPI.COMM_WORLD
turned = world.Split(0, -world.rank)  # the ranks the other way round
rudder.use_mpi(turned)
loader = rudder.NeighborLoader(sys.argv[1], [4, 3], 16, seed=5, output="numpy", epochs=1)
batches = []
for batch in loader:
    assert world.allreduce(1) == world.size  # beside ours
    batches.append(batch.n_id.tolist())
loader.close()
try:
    rudder.use_mpi(world)
except rudder.Error as error:
    assert error.kind == "usage"
told = world.gather((turned.rank, loader.rank, batches))
del loader
if world.rank == 0:
    print(json.dumps(told))
from rudder import _errors
_errors._shut_down()
assert not MPI.Is_finalized() and turned.allreduce(2) == 2 * world.size
"""


@unittest.skipUnless(shutil.which("mpirun"), "no mpirun here")
class MpiTest(unittest.TestCase):
    def test_a_communicator_that_is_given(self):
        with small_graph.temporary() as folder:
            parts = small_graph.make(folder)
            ranks = subprocess.run(["mpirun", "-n", "2", "--oversubscribe", "--allow-run-as-root", sys.executable, "-c",
                                    script, parts], capture_output=True, text=True, timeout=120)
            self.assertEqual(ranks.returncode, 0, ranks.stderr)
            told = json.loads(ranks.stdout)
            alone = [batch.n_id.tolist() for batch in rudder.NeighborLoader(parts, [4, 3], 16, seed=5, output="numpy",
                                                                           epochs=1)]
        self.assertEqual([(given, own) for given, own, _ in told], [(1, 1), (0, 0)])
        second, first = (batches for _, _, batches in told)
        self.assertEqual([batch for pair in zip(first, second) for batch in pair], alone)

    def test_processes_that_do_not_know_of_each_other_are_told(self):
        with small_graph.temporary() as folder:
            parts = small_graph.make(folder)
            program = """
import sys, rudder
try:
    rudder.NeighborLoader(sys.argv[1], [4], 16, output="numpy")
except rudder.Error as error:
    assert error.kind == "usage" and "use_mpi" in error.remedy, error
    print("refused")
"""
            ranks = subprocess.run(["mpirun", "-n", "2", "--oversubscribe", "--allow-run-as-root", sys.executable, "-c",
                                    program, parts], capture_output=True, text=True, timeout=120)
            self.assertEqual(ranks.stdout.split(), ["refused"] * 2, ranks.stderr)


if __name__ == "__main__":
    unittest.main()
