"""make bench-peers without a network: a peer that is a script, peers that are absent, and what is told of both.

    peers_test.py SOURCE BUILD
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = sys.argv[1:3]
DRIVER = os.path.join(SOURCE, "bench", "peers", "bench_peers.py")
sys.path.insert(0, os.path.dirname(DRIVER))
import environments  # noqa: E402  (after the path is set)
import sides  # noqa: E402

PEER = """
import argparse, json
parser = argparse.ArgumentParser()
for name in ("graph", "hidden", "batch", "epochs", "threads", "fanout"):
    parser.add_argument("--" + name, required=True)
found = parser.parse_args()
open(found.graph, "rb").close()
print("what libraries say when they start")
for epoch in range(int(found.epochs)):
    print(json.dumps({"epoch": epoch, "seconds": 100.0 if epoch == 0 else float(found.hidden), "cpu": 8.0,
                      "edges": 1000, "loss": 1.0}))
"""


def bench(*options):
    return subprocess.run([sys.executable, DRIVER, "--build", BUILD, *map(str, options)], capture_output=True, text=True)


class WithAScript(unittest.TestCase):
    def test_sides_are_compared_and_absent_ones_named(self):
        with tempfile.TemporaryDirectory() as folder:
            peer = os.path.join(folder, "peer.py")
            with open(peer, "w") as file:
                file.write(PEER)
            work = os.path.join(folder, "work")
            done = bench("--work", work, "--vertices", 2000, "--batch", 100, "--epochs", 2, "--rounds", 1, "--hidden",
                         "4,8", "--without", "dgl,pyg", "--peer", f"4:Script={sys.executable} {peer}",
                         "--peer", "1:Broken=false")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for words in ("absent: dgl: left out by --without", "absent: pyg: left out by --without",
                          "absent: Broken, ranks 1, hidden 4: Broken: "):
                self.assertIn(words, done.stdout)
            with open(os.path.join(work, "result.json")) as file:
                rows = {(row["ranks"], row["hidden"], row["side"]): row for row in json.load(file)["rows"]}
            sides_there = {"Rudder", "Rudder, none", "Script"}
            self.assertEqual(set(rows), {(4, h, side) for h in (4, 8) for side in sides_there}
                             | {(1, h, "Rudder") for h in (4, 8)})
            self.assertEqual(rows[4, 8, "Script"]["epoch"], 8)  # the first epoch does not count
            over = rows[4, 8, "Rudder"]["over"]["Script"]
            self.assertAlmostEqual(over["epoch"], rows[4, 8, "Rudder"]["epoch"] / 8)
            self.assertAlmostEqual(over["cpu"], rows[4, 8, "Rudder"]["cpu"] / 8)
            self.assertEqual(rows[1, 8, "Rudder"]["over"], {})

    def test_wrong_use_is_refused(self):
        for options in (["--without", "torch"], ["--peer", "3:A=b"], ["--peer", "4:A"], ["--rounds", "0"],
                        ["--hidden", "x"], ["--data", "/nowhere.npz"], ["--build", "/nowhere"]):
            done = bench(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertTrue(done.stderr, options)


class Parts(unittest.TestCase):
    def test_lines_that_are_no_epochs_are_passed_over(self):
        found = sides.figures_of('{"part": 0}\n{broken\n{"epoch": 0, "seconds": 3, "cpu": 1, "edges": 2}\n')
        self.assertEqual((found.epoch, found.cpu, found.edges), (3, 1, 2))
        with self.assertRaisesRegex(environments.Absent, "no epoch"):
            sides.figures_of("nothing\n")

    def test_an_environment_that_cannot_be_made_is_absent_with_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = environments.Environment(os.path.join(folder, "env"), "requirements-dgl.txt", "", python="/nowhere")
            with self.assertRaisesRegex(environments.Absent, "python3 -m venv: No such file"):
                broken.ready()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
