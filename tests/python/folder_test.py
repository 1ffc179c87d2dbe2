"""The run folder of a loader: what it holds, and that the program reads it."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402

script = """
import json, os, sys, rudder
loader = rudder.NeighborLoader(sys.argv[1], [4, 3], 16, seed=5, output="numpy", epochs=3, buffer=0.3, out=sys.argv[2],
                               agent="never", policy="lru")
rank = loader.rank
for epoch in range(3):
    for step, batch in enumerate(loader):
        loader.note_loss(10 * epoch + rank)
        if epoch == 1 and rank == 1 and step == 2:
            break
loader.close()
print(json.dumps(loader.stats()))
"""


class FolderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.parts = small_graph.make(cls.folder.name)
        cls.out = os.path.join(cls.folder.name, "run")
        port = small_graph.free_port()
        ranks = [small_graph.start(script, cls.parts, cls.out, rank=rank, size=2, port=port, RUDDER_RANKS_PER_HOST="1")
                 for rank in range(2)]
        cls.stats = []
        for rank in ranks:
            code, out, err = small_graph.finish(rank)
            assert code == 0, err
            cls.stats.append(json.loads(out))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def program(self, *words):
        return subprocess.run([os.environ["RUDDER_PROGRAM"], *words], check=True, capture_output=True, text=True).stdout

    def test_every_step_of_every_rank_is_there(self):
        run = rudder.Run.open(self.out)
        steps = run.steps()
        count = run.summary["steps"]
        self.assertEqual(count, 3 * run.summary["steps_per_epoch"])
        self.assertEqual(list(zip(steps["step"], steps["rank"])), [(step, rank) for step in range(count) for rank in (0, 1)])
        for name in ("needed", "local", "hit", "demand", "ahead"):
            here = [sum(value for value, rank in zip(steps["rows." + name], steps["rank"]) if rank == number)
                    for number in (0, 1)]
            # What was fetched for nothing is counted in the end, and in no step.
            self.assertEqual(here, [stats["rows"][name] for stats in self.stats], name)
            self.assertEqual(run.summary["rows"][name], sum(here), name)
        self.assertGreater(run.summary["rows"]["demand"], 0)
        self.assertEqual(run.summary["edges"], sum(stats["edges"] for stats in self.stats))

    def test_losses_are_those_that_were_told(self):
        run = rudder.Run.open(self.out)
        per_epoch = run.summary["steps_per_epoch"]
        self.assertEqual(list(run.epochs()["epoch"]), [0, 1, 2])
        losses = list(run.steps()["loss"])[::2]
        self.assertEqual(losses[:per_epoch], [0.5] * per_epoch)
        # Rank 1 told of three batches of the second epoch, and left.
        self.assertEqual(losses[per_epoch:2 * per_epoch], [10.5] * 3 + [5.0] * (per_epoch - 3))
        self.assertEqual(run.summary["loss"]["last"], 20.5)
        self.assertAlmostEqual(list(run.epochs()["loss"])[2], 20.5)

    def test_the_program_reads_it(self):
        page = os.path.join(self.folder.name, "page.html")
        self.program("report", self.out, "--out", page)
        with open(page, encoding="utf-8") as file:
            self.assertIn("lru", file.read())
        told = json.loads(self.program("info", self.out, "--json"))
        self.assertIn("finished", json.dumps(told))
        self.program("explain", self.out)
        with open(os.path.join(self.out, "run.json"), encoding="utf-8") as file:
            card = json.load(file)
        self.assertEqual((card["state"], card["ranks"], card["epochs"], card["model"]), ("finished", 2, 3, "own"))
        self.assertIn("-c", card["command"])

    def test_rows_are_those_without_a_folder(self):
        plain = script.replace('out=sys.argv[2],\n', "").replace("loader.note_loss(10 * epoch + rank)", "pass")
        self.assertNotEqual(plain, script)
        port = small_graph.free_port()
        ranks = [small_graph.start(plain, self.parts, rank=rank, size=2, port=port, RUDDER_RANKS_PER_HOST="1")
                 for rank in range(2)]
        for rank, kept in zip(ranks, self.stats):
            code, out, err = small_graph.finish(rank)
            self.assertEqual(code, 0, err)
            stats = json.loads(out)
            self.assertEqual(stats["rows"]["needed"], kept["rows"]["needed"])

    def test_decisions_are_kept(self):
        out = os.path.join(self.folder.name, "steered")
        with rudder.NeighborLoader(self.parts, [4, 3], 16, output="numpy", epochs=2, agent="every:4", policy="scored",
                                   out=out) as loader:
            for _ in range(2):
                list(loader)
        run = rudder.Run.open(out)
        self.assertEqual(run.summary["agent"]["name"], "every:4")
        self.assertEqual(run.summary["agent"]["decisions"], len(list(run.decisions().get("step", []))))

    def test_what_lies_there_is_replaced_only_if_asked(self):
        out = os.path.join(self.folder.name, "again")
        for _ in range(2):
            with rudder.NeighborLoader(self.parts, [4, 3], 64, output="numpy", epochs=1, out=out, force=True) as loader:
                list(loader)
        with self.assertRaises(rudder.Error) as caught:
            rudder.NeighborLoader(self.parts, [4, 3], 64, output="numpy", out=out)
        self.assertEqual(caught.exception.kind, "usage")
        self.assertTrue(rudder.Run.open(out).summary)

    def test_a_loader_without_end_has_a_folder_too(self):
        out = os.path.join(self.folder.name, "endless")
        with rudder.NeighborLoader(self.parts, [4, 3], 64, output="numpy", out=out) as loader:
            list(loader)
            next(iter(loader))
        run = rudder.Run.open(out)
        self.assertEqual(run.summary["steps"], loader.steps_per_epoch + 1)
        self.assertEqual(list(run.epochs()["epoch"]), [0])
        self.program("info", out)
        self.program("report", out, "--out", os.path.join(self.folder.name, "endless.html"))


if __name__ == "__main__":
    unittest.main()
