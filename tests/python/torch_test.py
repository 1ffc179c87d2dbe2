"""Batches as tensors and as torch_geometric.data.Data; only where those are installed (make test-python)."""

import os
import sys
import unittest

import torch
import torch_geometric

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402
import rudder.pyg  # noqa: E402


class TorchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.parts = small_graph.make(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_batches_are_data(self):
        arrays = rudder.NeighborLoader(self.parts, [5, 3], 32, output="numpy")
        loader = rudder.pyg.NeighborLoader(self.parts, [5, 3], 32)
        for batch, same in zip(loader, arrays):
            self.assertIsInstance(batch, torch_geometric.data.Data)
            self.assertTrue(batch.validate())
            self.assertEqual(batch.y.dtype, torch.int64)
            for name in ("x", "y", "edge_index", "n_id", "input_id"):
                self.assertEqual(batch[name].tolist(), getattr(same, name).tolist())

    def test_layers_are_trimmed(self):
        from torch_geometric.utils import trim_to_layer

        for batch in rudder.NeighborLoader(self.parts, [5, 3], 32):
            x, edge_index = batch.x, batch.edge_index
            for number in range(2):
                x, edge_index, _ = trim_to_layer(number, batch.num_sampled_nodes, batch.num_sampled_edges, x,
                                                 edge_index)
                self.assertLess(int(edge_index.max()), len(x))
            last, sources, _ = rudder.layer(batch, 1)
            self.assertTrue(torch.equal(edge_index, last))
            self.assertEqual(len(x), sources)

    def test_tensors_share_memory_and_keep_it(self):
        loader = rudder.NeighborLoader(self.parts, [5, 3], 32, output="torch")
        batches = list(loader)
        kept = [batch.x.clone() for batch in batches]
        del loader
        for batch, x in zip(batches, kept):
            self.assertTrue(torch.equal(batch.x, x))
        self.assertEqual(len({batch.x.data_ptr() for batch in batches}), len(batches))


if __name__ == "__main__":
    unittest.main()
