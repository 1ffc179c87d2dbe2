"""The commands that measure the package work on a small graph; what they measure there says nothing."""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

bench = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "python")


class FiguresTest(unittest.TestCase):
    def measured(self, *words):
        return subprocess.run([sys.executable, os.path.join(bench, "package_figures.py"), *words], capture_output=True, text=True)

    def test_importing_and_batches_are_measured(self):
        with small_graph.temporary() as folder:
            done = self.measured(small_graph.make(folder), "--only", "import,overhead", "--runs", "1", "--batch", "32")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[2], r"^\| import rudder \| -?[\d.]+ s \| 0.2 s \|$")
        self.assertRegex(lines[3], r"^\| Python per batch, numpy \| \d+ us of CPU per batch, [1-9]\d* batches \| 200 us \|$")
        self.assertEqual(len(lines), 6)

    def test_what_is_not_known_is_refused(self):
        self.assertEqual(self.measured("--only", "speed").returncode, 2)
        done = self.measured("--only", "overhead")
        self.assertIn("PARTS", done.stderr)

    def test_a_link_waits_as_it_is_told(self):
        with open(os.path.join(bench, "train_side.py"), encoding="utf-8") as file:
            source = re.search(r"^class Link:.*?(?=^class )", file.read(), re.S | re.M).group()
        waited = []

        class Clock:
            sleep = staticmethod(waited.append)

        space = {"time": Clock}
        exec(source, space)
        link = space["Link"]("100us,1gbit")
        self.assertAlmostEqual(link.delay, 1e-4)
        self.assertAlmostEqual(link.rate, 125e6)

        class Rows(list):
            def element_size(self):
                return 4

        class Row:
            def numel(self):
                return 100

        link.sent(Rows([Row()] * 10), [2, 5, 3], 1)
        self.assertAlmostEqual(waited.pop(), 1e-4 + 5 * 400 / 125e6)
        space["Link"]("").sent(Rows(), [0], 0)
        self.assertEqual(waited, [])


if __name__ == "__main__":
    unittest.main()
