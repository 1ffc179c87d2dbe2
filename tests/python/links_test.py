"""Batches of links, with NumPy's arrays."""

import os
import sys
import unittest

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402


class LinksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.parts = small_graph.make(cls.folder.name)
        cls.edges = small_graph.edges_of(small_graph.arrays()[0])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def loader(self, **options):
        options = {"num_neighbors": [5, 3], "batch_size": 64, "output": "numpy", **options}
        return rudder.LinkNeighborLoader(self.parts, **options)

    def links(self, **options):
        """Each link that an epoch asks about, and how often."""
        count, seen = 0, set()
        for batch in self.loader(**options):
            vertex = batch.x[:, 0].astype(int)
            joined = batch.edge_label == 1
            self.assertEqual(joined.sum(), batch.batch_size)
            self.assertEqual(len(batch.input_id), batch.batch_size)
            for source, target in batch.edge_label_index.T[joined]:
                seen.add(frozenset((vertex[source], vertex[target])))
            count += batch.batch_size
        return count, seen

    def test_roles_share_the_edges_out(self):
        roles = {role: self.links(input_edges=role) for role in ("train", "valid", "test")}
        for count, seen in roles.values():
            self.assertEqual(count, len(seen))
        together = set().union(*(seen for _, seen in roles.values()))
        self.assertEqual(sum(count for count, _ in roles.values()), len(together))
        self.assertEqual(together, {frozenset(edge) for edge in self.edges})
        self.assertGreater(roles["train"][0], 6 * roles["test"][0])

    def test_no_message_passes_along_what_is_asked_about(self):
        held_back = self.links(input_edges="valid")[1] | self.links(input_edges="test")[1]
        for batch in self.loader():
            vertex = batch.x[:, 0].astype(int)
            asked = {frozenset((vertex[a], vertex[b])) for a, b in batch.edge_label_index.T[batch.edge_label == 1]}
            passed = {frozenset((vertex[a], vertex[b])) for a, b in batch.edge_index.T}
            self.assertTrue(passed)
            self.assertFalse(passed & (asked | held_back))

    def test_others_are_drawn_beside_each_link(self):
        for batch in self.loader(negatives="uniform:3"):
            pairs = batch.edge_label_index
            self.assertEqual(pairs.shape, (2, 4 * batch.batch_size))
            self.assertEqual(batch.edge_label.tolist(), [1.0] * batch.batch_size + [0.0] * 3 * batch.batch_size)
            numpy.testing.assert_array_equal(pairs[0], numpy.tile(pairs[0, :batch.batch_size], 4))
        self.assertIsNone(batch.y)
        self.assertIn("edge_label_index", repr(batch))

    def test_what_is_refused(self):
        for word, options in {"input_edges": {"input_edges": "all"}, "negatives": {"negatives": "none:1"},
                              "num_workers": {"num_workers": 1}}.items():
            with self.subTest(word), self.assertRaises(rudder.Error) as caught:
                self.loader(**options)
            self.assertEqual(caught.exception.kind, "usage")


if __name__ == "__main__":
    unittest.main()
