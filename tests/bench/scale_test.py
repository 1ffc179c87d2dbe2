"""make bench-scale on a tiny graph: every row is there, the result is JSON, and what got worse is told.

    scale_test.py SOURCE BUILD
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = sys.argv[1:3]
DRIVER = os.path.join(SOURCE, "bench", "scale", "bench_scale.py")
sys.path.insert(0, os.path.dirname(DRIVER))
import record  # noqa: E402  (after the path is set)
import runs  # noqa: E402
import stages  # noqa: E402
from rows import Row  # noqa: E402


def bench(*options):
    return subprocess.run([sys.executable, DRIVER, "--build", BUILD, *map(str, options)], capture_output=True, text=True)


class Tiny(unittest.TestCase):
    """One run of it, looked at from several sides."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = os.path.join(cls.folder.name, "work")
        cls.recorded = os.path.join(cls.folder.name, "recorded")
        cls.done = bench("--size", "tiny", "--work", cls.work, "--recorded", cls.recorded, "--record")
        cls.path = os.path.join(cls.folder.name, "kept.json")
        os.rename(os.path.join(cls.work, "result.json"), cls.path)
        with open(cls.path) as file:
            cls.result = json.load(file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def again(self, change):
        """The verdict on the same result after `change` of the record."""
        path = record.path_of(self.recorded, self.result["kind"])
        with open(path) as file:
            kept = file.read()
        changed = json.loads(kept)
        change(changed)
        with open(path, "w") as file:
            json.dump(changed, file)
        done = bench("--compare", self.path, "--recorded", self.recorded)
        with open(path, "w") as file:
            file.write(kept)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_every_row_has_a_figure(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        names = [row["name"] for row in self.result["rows"]]
        for stage in ("generate", "partition", "sample", "own rows, 1 thread", "rows of other ranks, 2 ranks",
                      "numbering of remote rows", "exact evaluation, 4 ranks, hidden 256"):
            self.assertIn(stage, names)
        for policy in stages.POLICIES:
            self.assertIn(f"bookkeeping, {policy}", names)
        for run in runs.plan(True):
            self.assertIn(run.name(), names)
        for row in self.result["rows"]:
            self.assertEqual(row["skipped"], "", row)
            self.assertTrue(row["figure"], row)
            self.assertIn(row["name"], self.done.stdout)

    def test_ratios_are_of_what_they_say(self):
        rows = {row["name"]: row for row in self.result["rows"]}
        self.assertGreater(rows["sample"]["ratios"]["random reads"], 0)
        self.assertEqual(set(rows["run, 2 ranks, hidden 16, window:16, 20us,10gbit"]["ratios"]), {"none", "no link"})
        self.assertEqual(set(rows["run, 2 ranks, hidden 16, none"]["ratios"]), {"CPU of 1 rank"})
        epochs = [rows[name]["values"]["epoch"] for name in ("run, 2 ranks, hidden 16, window:16",
                                                             "run, 2 ranks, hidden 16, none")]
        self.assertAlmostEqual(rows["run, 2 ranks, hidden 16, window:16"]["ratios"]["none"], epochs[0] / epochs[1])

    def test_the_same_again_is_no_worse(self):
        text = self.again(lambda changed: None)
        self.assertIn("None got worse by over 20 %.", text)
        ratios = sum(sum(value > 0 for value in row["ratios"].values()) + (row["instructions"] is not None)
                     for row in self.result["rows"])
        self.assertIn(f": {ratios} figures.", text)

    def test_what_got_worse_is_told(self):
        def faster_before(changed):
            changed["ratios"]["sample / random reads"] *= 0.7

        text = self.again(faster_before)
        self.assertIn("Worse by over 20 %: 1", text)
        self.assertRegex(text, r"sample: .* of random reads, recorded .* \(1\.43 times\)")

    def test_the_graph_is_kept(self):
        before = os.stat(os.path.join(self.work, "4000", "parts", "manifest.json")).st_mtime_ns
        done = bench("--size", "tiny", "--work", self.work, "--recorded", self.recorded, "--only", "stages",
                     "--memory", 1e6)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(os.stat(os.path.join(self.work, "4000", "parts", "manifest.json")).st_mtime_ns, before)
        self.assertRegex(done.stdout, r"sample +skipped: needs 0\.2 GB of memory, 0\.0 GB are free")


class WithoutAGraph(unittest.TestCase):
    def test_too_little_memory_is_said_and_the_rest_goes_on(self):
        with tempfile.TemporaryDirectory() as work:
            done = bench("--vertices", 100000, "--memory", 1e6, "--work", work, "--recorded", work)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"generate +skipped: needs \d\.\d GB of memory, 0\.0 GB are free")
            self.assertRegex(done.stdout, r"run, 4 ranks, hidden 256, default +skipped: there is no graph")

    def test_wrong_use_is_refused(self):
        for options in (["--size", "huge"], ["--vertices", "0"], ["--only", "lunch"], ["--rounds", "-1"], ["--runs", "("],
                        ["--build", "/nowhere"]):
            done = bench(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertTrue(done.stderr, options)


class Noise(unittest.TestCase):
    """Where rounds disagree, instructions decide."""

    @staticmethod
    def held(instructions, spread):
        kept = {"ratios": {"a / plain": 1.0}, "spread": {"a": 1.0}, "instructions": {"a": 1000}}
        row = Row("a", ratios={"plain": 1.5}, spread=spread, instructions=instructions)
        _, worse, noisy = record.compare([row], kept)
        return len(worse), len(noisy)

    def test_instructions_decide_where_rounds_disagree(self):
        self.assertEqual(self.held(1000, 1.6), (0, 1))
        self.assertEqual(self.held(1400, 1.6), (1, 0))
        self.assertEqual(self.held(1000, 1.05), (1, 0))
        self.assertEqual(self.held(None, 1.6), (1, 0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
