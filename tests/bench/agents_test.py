"""bench/steer/agents_table.py on the trace of a tiny graph.

    agents_test.py SOURCE BUILD
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = sys.argv[1:3]
DRIVER = os.path.join(SOURCE, "bench", "steer", "agents_table.py")
RUDDER = os.path.join(BUILD, "src", "cli", "rudder")
sys.path.insert(0, os.path.dirname(DRIVER))
import agents_table  # noqa: E402  (after the path is set)


def traced(folder):
    for words in (["generate", "sbm", "graph", "--vertices", "600", "--quiet"],
                  ["partition", "graph", "parts", "--parts", "2", "--quiet"],
                  ["train", "parts", "--ranks", "2", "--ranks-per-host", "1", "--epochs", "2", "--batch", "20", "--hidden", "4",
                   "--fanout", "4,6", "--agent", "never", "--trace", "--quiet", "--out", "run"]):
        done = subprocess.run([RUDDER, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr)


class Tiny(unittest.TestCase):
    def test_one_command_prints_the_whole_table(self):
        with tempfile.TemporaryDirectory() as folder:
            traced(folder)
            done = subprocess.run([sys.executable, DRIVER, RUDDER, os.path.join(folder, "run")], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        agents = [line.split("|")[1].strip(" `") for line in lines[2:]]
        self.assertEqual(agents, [agents_table.BUILT_IN, *agents_table.AGENTS])
        for line in lines:
            self.assertEqual(line.count("|"), len(agents_table.HEAD) + 1, line)
        self.assertEqual(lines[2].split("|")[3].strip(), "1.000")

    def test_several_starts_and_live_runs_with_their_seconds(self):
        with tempfile.TemporaryDirectory() as folder:
            traced(folder)
            run, parts = os.path.join(folder, "run"), os.path.join(folder, "parts")
            done = subprocess.run([sys.executable, DRIVER, RUDDER, run, "--starts", "window:4;lru"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual([[cell.strip(" `") for cell in line.split("|")[1:3]] for line in lines[2:]],
                             [[start, agent] for start in ("window:4", "lru") for agent in ("never", *agents_table.SETTERS)])
            live = subprocess.run([sys.executable, DRIVER, RUDDER, parts, "0.25", "scored", "bandit", "--live", "--", "--ranks", "2",
                                   "--ranks-per-host", "1", "--epochs", "2", "--batch", "20", "--hidden", "4", "--fanout", "4,6"],
                                  capture_output=True, text=True)
        self.assertEqual(live.returncode, 0, live.stderr)
        lines = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in live.stdout.splitlines()]
        self.assertEqual(lines[0][2:4], agents_table.SECONDS)
        self.assertEqual([line[0] for line in lines[2:]], [agents_table.BUILT_IN, "bandit"])
        for line in lines[2:]:
            self.assertEqual(len(line), len(agents_table.HEAD) + 2)
            self.assertGreater(float(line[2]), 0)
            self.assertTrue(line[5].endswith("%"), line)

    def test_classifiers_that_are_there_are_found(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for model in ("phy-repaired-lr.model", "phy-faithful-rf.model", "npm-repaired-lr.model"):
                (folder / model).touch()
            prefix = folder / "phy"
            self.assertEqual(agents_table.classifiers(prefix), {f"lr:{prefix}-repaired-lr.model": "lr",
                                                                f"rf:{prefix}-faithful-rf.model,faithful": "rf,faithful"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
