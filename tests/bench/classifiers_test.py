"""The table of classifiers on two small graphs: its lines, what is kept between calls, what is missing.

    classifiers_test.py SOURCE BUILD
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = sys.argv[1:3]
DRIVER = os.path.join(SOURCE, "bench", "steer", "classifiers_table.py")
RUDDER = os.path.join(BUILD, "src", "cli", "rudder")


class Small(unittest.TestCase):
    """One table, looked at from several sides."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for seed, name in enumerate(["a", "b"]):
            graph = cls.path(name)
            for words in (["generate", "sbm", graph, "--vertices", "600", "--seed", str(seed)],
                          ["export", graph, cls.path(f"{name}.npz")]):
                subprocess.run([RUDDER, *words, "--quiet"], check=True)
        cls.done = cls.table()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def table(cls, *words):
        return subprocess.run([sys.executable, DRIVER, RUDDER, cls.folder.name, "--out", cls.path("table.md"), "--work",
                               cls.path("work"), "--graphs", "a", "b", "c", "--kinds", "lr", "rf", "--steps", "60",
                               "--no-ceiling", *words], capture_output=True, text=True)

    def test_every_graph_has_its_lines(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        with open(self.path("table.md")) as file:
            self.assertEqual(file.read(), self.done.stdout)
        for graph, others in (("a", "b"), ("b", "a")):
            self.assertIn(f"**`{graph}`**, fitted to `{others}`:", self.done.stdout)
        for agent in ("lr", "lr,faithful", "rf", "rf,faithful"):
            lines = [line for line in self.done.stdout.splitlines() if line.startswith(f"| `{agent}` |")]
            self.assertEqual(len(lines), 2, agent)
            for line in lines:
                cells = [cell.strip() for cell in line.strip("|").split("|")]
                shares = [float(cells[i]) for i in (1, 2, 3, 6, 9)]
                self.assertTrue(all(0 <= share <= 1 for share in shares), line)
                for i in (4, 5, 7, 8):
                    self.assertRegex(cells[i], r"^[+-][0-9.]+ %$")
                self.assertRegex(cells[10], r" us$")

    def test_the_more_frequent_answer_is_right_at_least_half_of_the_time(self):
        shares = re.findall(r"the more frequent answer, \w+ \| ([0-9.]+) ", self.done.stdout)
        self.assertEqual(len(shares), 4)
        self.assertTrue(all(0.5 <= float(share) <= 1 for share in shares), shares)

    def test_a_graph_that_is_not_there_is_named(self):
        self.assertIn("`c` is not in the data folder", self.done.stdout)
        self.assertIn("c: left out", self.done.stderr)

    def test_what_is_done_is_kept_and_what_is_missing_is_made(self):
        again = self.table()
        self.assertEqual(again.stdout, self.done.stdout)
        self.assertEqual(again.stderr.splitlines(), [line for line in again.stderr.splitlines() if "left out" in line])
        os.remove(os.path.join(self.path("work"), "results", "replay.a.repaired.lr.0.05.json"))
        once_more = self.table()
        made = [line.split(" ", 1)[1] for line in once_more.stderr.splitlines() if "left out" not in line]
        self.assertEqual(made, ["replaying a at 0.05", "replay.a.repaired.lr.0.05"])

    def test_results_of_other_settings_are_not_mixed(self):
        other = self.table("--seed", "7")
        self.assertNotEqual(other.returncode, 0)
        self.assertIn("other settings", other.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
