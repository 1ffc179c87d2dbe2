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

examples = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python")
example = os.path.join(examples, "sage_numpy.py")


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

    def test_three_lines_change(self):
        def code(name):
            with open(os.path.join(examples, name), encoding="utf-8") as file:
                return file.read().split('"""')[2].splitlines()

        before, after = code("ddp_before.py"), code("ddp_after.py")
        self.assertEqual(len(before), len(after))
        self.assertEqual(sum(a != b for a, b in zip(before, after)), 3)
        self.assertLessEqual(len(after), 40)

    def test_an_agent_decides(self):
        with small_graph.temporary() as folder:
            parts = small_graph.make(folder)
            port = small_graph.free_port()
            with open(os.path.join(examples, "own_agent.py"), encoding="utf-8") as file:
                script = file.read()
            ranks = [small_graph.start(script, parts, rank=rank, size=2, port=port, RUDDER_RANKS_PER_HOST="1")
                     for rank in range(2)]
            told = [small_graph.finish(rank) for rank in ranks]
        for code, _, err in told:
            self.assertEqual(code, 0, err)
        self.assertRegex(told[0][1], r"[1-9]\d* found; [1-9]\d* decisions")
        self.assertEqual(told[1][1], "")


if __name__ == "__main__":
    unittest.main()
