"""The loader on several processes, started as torchrun starts them."""

import json
import os
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

script = """
import json, sys, rudder
loader = rudder.NeighborLoader(sys.argv[1], [4, 3], 16, seed=5, output="numpy", epochs=2, **json.loads(sys.argv[2]))
seen = [batch.n_id.tolist() for _ in range(2) for batch in loader]
loader.close()
print(json.dumps({"rank": loader.rank, "batches": seen, "stats": loader.stats()}))
"""


class RanksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.parts = small_graph.make(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_ranks(self, program, *arguments, size=2, **variables):
        port = small_graph.free_port()
        ranks = [small_graph.start(program, self.parts, *arguments, rank=rank, size=size, port=port, **variables)
                 for rank in range(size)]
        return [small_graph.finish(rank) for rank in ranks]

    def loaded(self, options, **variables):
        told = []
        for code, out, err in self.run_ranks(script, json.dumps(options), **variables):
            self.assertEqual(code, 0, err)
            told.append(json.loads(out))
        return told

    def test_parts_are_the_same_on_one_rank_and_on_two(self):
        alone = json.loads(small_graph.finish(small_graph.start(script, self.parts, "{}"))[1])["batches"]
        first, second = (rank["batches"] for rank in self.loaded({}))
        self.assertEqual(len(first), len(second))
        self.assertEqual([batch for pair in zip(first, second) for batch in pair], alone)

    def test_rows_are_those_of_training(self):
        for policy in ("window:4", "lru"):
            told = self.loaded({"policy": policy, "buffer": 0.3}, RUDDER_RANKS_PER_HOST="1")
            run = os.path.join(self.folder.name, "run-" + policy.replace(":", "-"))
            subprocess.run([os.environ["RUDDER_PROGRAM"], "train", self.parts, "--ranks", "2", "--ranks-per-host", "1",
                            "--transport", "sockets", "--fanout", "3,4", "--batch", "16", "--seed", "5", "--epochs",
                            "2", "--policy", policy, "--buffer", "0.3", "--eval-every", "0", "--out", run],
                           check=True, capture_output=True)
            with open(os.path.join(run, "summary.json"), encoding="utf-8") as file:
                rows = json.load(file)["rows"]
            for name in ("needed", "local", "hit", "demand", "replacement", "ahead", "wasted"):
                self.assertEqual(sum(rank["stats"]["rows"][name] for rank in told), rows[name], (policy, name))
            self.assertGreater(rows["demand"] + rows["ahead"], 0)

    def test_agents_steer(self):
        told = self.loaded({"agent": "bandit"}, RUDDER_RANKS_PER_HOST="1")
        self.assertEqual([rank["stats"]["steps"] for rank in told], [told[0]["stats"]["steps"]] * 2)

    def test_an_exception_ends_the_others_with_its_name(self):
        program = """
import sys, rudder
loader = rudder.NeighborLoader(sys.argv[1], [4, 3], 16, output="numpy")
for epoch in range(100000):
    for batch in loader:
        if loader.rank == 1 and epoch == 1:
            raise ValueError("a mistake")
"""
        (code, _, err), (other, _, other_err) = self.run_ranks(program)
        self.assertEqual(other, 1)
        self.assertIn("ValueError: a mistake", other_err)
        self.assertNotEqual(code, 0)
        self.assertIn("rank 1", err)
        self.assertIn("a mistake", err)

    def test_other_threads_run_while_it_waits(self):
        # Rank 1 goes on once a thread of rank 0 has told it to, while rank 0 waits for rank 1.
        program = """
import os, sys, threading, time, rudder
folder, rank = sys.argv[2], int(os.environ["RANK"])

def until(name):
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.01)

class Telling:
    def __init__(self, name):
        self.name = name

    def tell(self):
        time.sleep(0.2)
        open(os.path.join(folder, self.name), "w").close()

    def __enter__(self):
        if rank == 0:
            threading.Thread(target=self.tell).start()
        else:
            until(self.name)

    def __exit__(self, *error):
        pass

with Telling("made"):
    loader = rudder.NeighborLoader(sys.argv[1], [4, 3], 16, output="numpy", agent="bandit", epochs=1)
batches = iter(loader)
next(batches)
for number in range(4):
    with Telling(f"step {number}"):
        next(batches)
with Telling("rest"):
    list(batches)
with Telling("closed"):
    loader.close()
print("all")
"""
        with small_graph.temporary() as folder:
            for code, out, err in self.run_ranks(program, folder, RUDDER_RANKS_PER_HOST="1"):
                self.assertEqual((code, out), (0, "all\n"), err)

    def test_an_interrupt_arrives_while_it_waits_and_takes_no_batch(self):
        program = """
import os, sys, time, rudder
folder, rank = sys.argv[2], int(os.environ["RANK"])
loader = rudder.NeighborLoader(sys.argv[1], [4, 3], 16, seed=5, output="numpy", agent="bandit", epochs=1)
batches, seen, interrupts = iter(loader), [], 0
while True:
    if rank == 1 and len(seen) == 3:
        while not os.path.exists(os.path.join(folder, "go on")):
            time.sleep(0.01)
    if rank == 0 and len(seen) == 3 and interrupts == 0:
        print("waits", flush=True)
    try:
        batch = next(batches, None)
    except KeyboardInterrupt:
        interrupts += 1
        open(os.path.join(folder, "go on"), "w").close()
        continue
    if batch is None:
        break
    seen.append(batch.n_id.tolist())
print(__import__("json").dumps([interrupts, seen]))
"""
        with small_graph.temporary() as folder:
            port = small_graph.free_port()
            ranks = [small_graph.start(program, self.parts, folder, rank=rank, size=2, port=port, RUDDER_RANKS_PER_HOST="1")
                     for rank in range(2)]
            # With three batches in hand, rank 0 waits for rank 1, which has stopped before its fourth.
            self.assertEqual(ranks[0].stdout.readline(), "waits\n")
            threading.Event().wait(1)
            ranks[0].send_signal(signal.SIGINT)
            told = [small_graph.finish(rank) for rank in ranks]
        for code, _, err in told:
            self.assertEqual(code, 0, err)
        (interrupts, first), (none, second) = (json.loads(out) for _, out, _ in told)
        self.assertEqual((interrupts, none), (1, 0))
        alone = json.loads(small_graph.finish(small_graph.start(script, self.parts, "{}"))[1])["batches"]
        self.assertEqual([batch for pair in zip(first, second) for batch in pair], alone[:2 * len(first)])
        self.assertEqual(len(first), len(second))

    def test_a_rank_that_takes_less_waits_for_the_others(self):
        program = """
import sys, rudder
loader = rudder.NeighborLoader(sys.argv[1], [4, 3], 16, output="numpy")
count = 0
for epoch in range(1 if loader.rank == 0 else 6):
    for batch in loader:
        count += 1
print(count == len(loader) * (1 if loader.rank == 0 else 6))
"""
        for code, out, err in self.run_ranks(program, RUDDER_RANKS_PER_HOST="1"):
            self.assertEqual((code, out, err), (0, "True\n", ""))

    def test_ranks_must_be_asked_for_the_same(self):
        program = """
import sys, rudder
rank = int(__import__("os").environ["RANK"])
try:
    rudder.NeighborLoader(sys.argv[1], [4, 3], 16 + rank, output="numpy")
except rudder.Error as error:
    print(error.kind)
"""
        for code, out, err in self.run_ranks(program):
            self.assertEqual((code, out), (0, "usage\n"), err)

    refused = """
import sys, rudder
try:
    rudder.NeighborLoader(sys.argv[1], [4, 3], 16, output="numpy")
except rudder.Error as error:
    print(error.kind, "|", error.problem, "|", error.where, "|", error.remedy)
"""

    def test_a_rank_that_is_missing_at_the_start_is_named(self):
        port = small_graph.free_port()
        present = [small_graph.start(self.refused, self.parts, rank=rank, size=3, port=port, RUDDER_PATIENCE="3")
                   for rank in (0, 2)]
        for process in present:
            code, out, err = small_graph.finish(process)
            self.assertEqual(code, 0, err)
            kind, problem, _, remedy = out.split("|")
            self.assertEqual(kind.strip(), "rank")
            self.assertIn("1", problem)
            self.assertIn("MASTER_ADDR", remedy)

    def test_a_port_that_is_in_use_is_named(self):
        import socket

        with socket.socket() as other:
            other.bind(("0.0.0.0", 0))
            other.listen()
            port = other.getsockname()[1]
            code, out, err = small_graph.finish(small_graph.start(self.refused, self.parts, rank=0, size=2, port=port,
                                                                  RUDDER_PATIENCE="3"))
        self.assertEqual(code, 0, err)
        self.assertIn(f"port {port}", out)
        self.assertIn("RUDDER_PORT", out)

    def test_an_epoch_may_be_left_on_one_rank(self):
        program = """
import sys, rudder
loader = rudder.NeighborLoader(sys.argv[1], [4, 3], 4, output="numpy", epochs=2, agent=sys.argv[2])
for batch in loader:
    if loader.rank == 0:
        break
second = [batch.n_id.tolist() for batch in loader]
print(len(second) == len(loader))
"""
        for agent in ("never", "bandit"):
            for code, out, err in self.run_ranks(program, agent, RUDDER_RANKS_PER_HOST="1"):
                self.assertEqual((code, out, err), (0, "True\n", ""))

    def test_stores_share_rows(self):
        program = """
import json, sys, numpy
from rudder import _rudder
reader = _rudder.RowReader(sys.argv[1], json.dumps({"policy": sys.argv[2], "buffer": 0.5}))
draws = numpy.random.default_rng(reader.facts()["rank"])
count = reader.facts()["num_nodes"]
original = __import__("rudder").Dataset(sys.argv[1]).original_ids()
wanted = [draws.permutation(count)[:80] for _ in range(12)]
for at, ids in enumerate(wanted):
    if sys.argv[3] == "announced" and at == 0:
        for coming in wanted:
            reader.announce(coming)
    if sys.argv[3] == "announced" and at % 6 == 4:
        continue  # it is not asked for after all
    if sys.argv[3] == "announced" and at % 6 == 5:
        other = numpy.ascontiguousarray(ids[::-1])  # was not announced
        assert numpy.array_equal(numpy.asarray(reader.rows(other))[:, 0], original[other])
    assert numpy.array_equal(numpy.asarray(reader.rows(ids))[:, 0], original[ids])
reader.close()
print(json.dumps(json.loads(reader.stats())["rows"]))
"""
        rows = {}
        for policy in ("none", "lru", "window:8"):
            for how in ("asked", "announced"):
                told = self.run_ranks(program, policy, how, RUDDER_RANKS_PER_HOST="1")
                for code, _, err in told:
                    self.assertEqual(code, 0, err)
                rows[policy, how] = json.loads(told[0][1])
        self.assertGreater(rows["lru", "asked"]["hit"], 0)
        self.assertLess(rows["lru", "asked"]["demand"], rows["none", "asked"]["demand"])
        self.assertGreater(rows["window:8", "announced"]["ahead"], 0)
        self.assertEqual(rows["window:8", "asked"]["ahead"], 0)

    def test_parts_that_ranks_do_not_divide(self):
        program = """
import sys, rudder
try:
    rudder.NeighborLoader(sys.argv[1], [4, 3], output="numpy")
except rudder.Error as error:
    print(error.kind)
"""
        for code, out, err in self.run_ranks(program, size=3):
            self.assertEqual((code, out), (0, "usage\n"), err)


if __name__ == "__main__":
    unittest.main()
