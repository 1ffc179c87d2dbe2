"""Data sets made of arrays, opened and divided."""

import os
import sys
import unittest

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402


class DatasetTest(unittest.TestCase):
    def setUp(self):
        self.folder = small_graph.temporary()
        self.addCleanup(self.folder.cleanup)

    def place(self, name):
        return os.path.join(self.folder.name, name)

    def test_arrays_become_a_data_set(self):
        edge_index, x, y = small_graph.arrays()
        mask = numpy.arange(400) < 300
        data = rudder.Dataset.from_arrays(self.place("graph"), edge_index, x, y, train_mask=mask,
                                          val_mask=~mask)
        self.assertEqual(data.num_nodes, 400)
        self.assertEqual(data.num_edges, len(small_graph.edges_of(edge_index)))
        self.assertEqual(data.num_features, 6)
        self.assertEqual((data.targets, data.num_classes), ("classes", 4))
        self.assertEqual(data.split, {"train": 300, "valid": 100, "test": 0})
        self.assertEqual(data.parts, 0)
        self.assertEqual(os.listdir(self.folder.name), ["graph"])

    def test_parts_are_found_again(self):
        edge_index, x, y = small_graph.arrays()
        data = rudder.Dataset.from_arrays(self.place("graph"), edge_index, x, y)
        parts = data.partition(2, method="ldg")
        self.assertEqual(parts.parts, 2)
        again = rudder.Dataset.open(parts.path)
        self.assertEqual((again.num_nodes, again.num_edges), (data.num_nodes, data.num_edges))
        with self.assertRaises(rudder.Error) as caught:
            again.partition(2)
        self.assertEqual(caught.exception.kind, "usage")

    def test_what_lies_there_is_replaced_only_if_asked(self):
        edge_index, x, y = small_graph.arrays()
        rudder.Dataset.from_arrays(self.place("graph"), edge_index, x, y)
        with self.assertRaises(rudder.Error) as caught:
            rudder.Dataset.from_arrays(self.place("graph"), edge_index)
        self.assertEqual(caught.exception.kind, "usage")
        self.assertTrue(caught.exception.remedy)
        self.assertEqual(rudder.Dataset(self.place("graph")).num_features, 6)
        rudder.Dataset.from_arrays(self.place("graph"), edge_index, force=True)
        self.assertEqual(rudder.Dataset(self.place("graph")).num_features, 0)

    def test_bad_values_are_named(self):
        edge_index, x, y = small_graph.arrays()
        x[7, 2] = numpy.nan
        with self.assertRaises(rudder.Error) as caught:
            rudder.Dataset.from_arrays(self.place("graph"), edge_index, x, y)
        self.assertEqual(caught.exception.kind, "input")
        self.assertIn("7", str(caught.exception))
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_nothing_there(self):
        with self.assertRaises(rudder.Error) as caught:
            rudder.Dataset.open(self.place("nowhere"))
        self.assertEqual(caught.exception.kind, "input")
        self.assertIn("nowhere", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
