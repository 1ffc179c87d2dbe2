"""The example in NumPy learns what its features say."""

import os
import re
import subprocess
import sys
import unittest

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402

example = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python", "sage_numpy.py")


class ExampleTest(unittest.TestCase):
    def test_it_learns(self):
        draws = numpy.random.default_rng(2)
        y = draws.integers(0, 4, 1000)
        source = draws.integers(0, 1000, 8000)
        same = numpy.array([draws.choice(numpy.flatnonzero(y == y[v])) for v in source])
        x = (numpy.eye(4)[y] + draws.normal(0, 1, (1000, 4))).astype(numpy.float32)
        with small_graph.temporary() as folder:
            graph = os.path.join(folder, "graph")
            rudder.Dataset.from_arrays(graph, numpy.stack([source, same]), x, y)
            told = subprocess.run([sys.executable, example, graph, "6"], check=True, capture_output=True, text=True)
        scores = [float(text) for text in re.findall(r"accuracy ([\d.]+)", told.stdout)]
        self.assertEqual(len(scores), 6)
        self.assertGreater(scores[-1], 0.9, told.stdout)
        self.assertGreater(scores[-1], scores[0])


if __name__ == "__main__":
    unittest.main()
