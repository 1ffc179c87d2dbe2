"""Batches as tensors and as torch_geometric.data.Data; only where those are installed (make test-python)."""

import os
import sys
import unittest

import torch
import torch_geometric

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402
import typed_test  # noqa: E402

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

    def test_tensors_are_not_copies(self):
        import numpy

        arrays = rudder.NeighborLoader(self.parts, [5, 3], 32, output="torch")._engine.next()[0]
        made = rudder.batch.maker("torch")(arrays)
        for name in ("x", "y", "edge_index", "n_id", "input_id"):
            self.assertEqual(getattr(made, name).data_ptr(), numpy.asarray(arrays[name]).ctypes.data, name)

    def test_a_bar_of_tqdm_is_shown(self):
        import io

        from tqdm import tqdm

        seen = io.StringIO()
        bar = rudder.ProgressBar(file=seen)
        run = rudder.train(self.parts, callbacks=[bar], epochs=1, batch=64, hidden=8)
        bar.close()
        self.assertIn(f"{run.summary['steps']}/{run.summary['steps']}", seen.getvalue())
        loader = rudder.NeighborLoader(self.parts, [5, 3], 32)
        seen = io.StringIO()
        self.assertEqual(sum(1 for _ in tqdm(loader, file=seen)), len(loader))
        self.assertIn(f"{len(loader)}/{len(loader)}", seen.getvalue())

    def test_a_model_that_is_compiled(self):
        from torch_geometric.nn import SAGEConv

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = SAGEConv(6, 4)

            def forward(self, x, edge_index):
                return self.conv(x, edge_index)

        plain = Model()
        compiled = torch.compile(plain, backend="eager", dynamic=True)
        for batch in rudder.NeighborLoader(self.parts, [5, 3], 32):
            given = compiled(batch.x, batch.edge_index)
            self.assertTrue(torch.allclose(given, plain(batch.x, batch.edge_index)))
            given.sum().backward()

    def test_links_are_data(self):
        for batch in rudder.pyg.LinkNeighborLoader(self.parts, [5, 3], 64):
            self.assertIsInstance(batch, torch_geometric.data.Data)
            self.assertEqual(batch.edge_label_index.shape, (2, 2 * batch.batch_size))
            self.assertLess(int(batch.edge_label_index.max()), len(batch.x))

    def test_batches_of_several_types_are_hetero_data(self):
        from torch_geometric.nn import HeteroConv, SAGEConv
        from torch_geometric.utils import trim_to_layer

        edges, x, y = typed_test.arrays()
        data = torch_geometric.data.HeteroData()
        for name, count in typed_test.counts.items():
            data[name].num_nodes = count
        for name, rows in x.items():
            data[name].x = torch.from_numpy(rows)
        data["item"].y = torch.from_numpy(y["item"])
        for kind, ends in edges.items():
            data[kind].edge_index = torch.from_numpy(ends)
        whole = rudder.Dataset.from_pyg(os.path.join(self.folder.name, "typed"), data, directed=False)
        self.assertEqual(whole.num_nodes_dict, typed_test.counts)
        for kind, ends in whole.edge_index().items():
            self.assertEqual(set(zip(*ends.tolist())), typed_test.stored(edges)[kind])
        parts = whole.partition(2, method="ldg")
        kinds = [kind for kind in parts.edge_types if "tag" not in kind]
        widths = parts.num_features_dict
        conv = [HeteroConv({kind: SAGEConv((16 if last else widths[kind[0]], 16 if last else widths[kind[2]]), 16)
                            for kind in kinds}) for last in (False, True)]
        head = torch.nn.Linear(16, 3)
        weights = [*conv[0].parameters(), *conv[1].parameters(), *head.parameters()]
        same = rudder.NeighborLoader(parts.path, [4, 3], 32, output="numpy")
        for batch, arrays in zip(rudder.pyg.NeighborLoader(parts.path, [4, 3], 32), same):
            self.assertIsInstance(batch, torch_geometric.data.HeteroData)
            self.assertTrue(batch.validate())
            self.assertEqual(batch.node_types, parts.node_types)
            for name, rows in arrays.x_dict.items():
                self.assertEqual(batch[name].x.tolist(), rows.tolist())
            for kind, ends in arrays.edge_index_dict.items():
                self.assertEqual(batch[kind].edge_index.tolist(), ends.tolist())
            h, ends = batch.x_dict, {kind: batch.edge_index_dict[kind] for kind in kinds}
            for number in range(2):
                h, ends, _ = trim_to_layer(number, batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict, h, ends)
                last = rudder.layer(batch, number)[0]
                if number == 1:
                    self.assertTrue(all(torch.equal(ends[kind], last[kind]) for kind in kinds))
                h = {name: rows.relu() for name, rows in conv[number](h, ends).items()}
            logits = head(h["item"][:batch["item"].batch_size])
            torch.nn.functional.cross_entropy(logits, batch["item"].y).backward()
        self.assertTrue(all(weight.grad is not None for weight in weights[-2:]))

    def test_data_frames_are_those_of_pandas(self):
        import pandas

        run = rudder.train(self.parts, epochs=1, batch=64, hidden=8)
        self.assertIsInstance(run.epochs(), pandas.DataFrame)
        edges = pandas.DataFrame({"source": ["b", "c", "a"], "target": ["a", "a", "c"]})
        nodes = pandas.DataFrame({"id": ["c", "a", "b"], "size": [3.0, 1.0, 2.0], "kind": ["y", "x", "y"]})
        data = rudder.Dataset.from_pandas(os.path.join(self.folder.name, "named"), edges, nodes, label="kind",
                                          directed=True)
        self.assertEqual({tuple(edge) for edge in data.edge_index().T.tolist()}, {(2, 1), (0, 1), (1, 0)})
        self.assertEqual((data.num_features, data.num_classes), (1, 2))
        with self.assertRaises(rudder.Error) as caught:
            rudder.Dataset.from_pandas(os.path.join(self.folder.name, "wrong"), edges, nodes[:2], label="kind")
        self.assertIn("'b'", str(caught.exception))

    def test_weights_go_to_pyg_and_back(self):
        from torch_geometric.nn.models import GAT, GCN, GraphSAGE

        data = rudder.Dataset(self.parts)
        edge_index = torch.from_numpy(data.edge_index())
        original = data.original_ids()
        x = torch.from_numpy(small_graph.arrays()[1][original])
        for name, kind, given, options in (("sage", GraphSAGE, {}, {}), ("sage", GraphSAGE, {"norm": "batch"},
                                                                         {"norm": "batch"}),
                                           ("gcn", GCN, {}, {}), ("gat", GAT, {"heads": 2, "act": "elu"}, {"heads": 2}),
                                           ("gatv2", GAT, {"heads": 2, "v2": True, "act": "elu"}, {"heads": 2})):
            with self.subTest(name, **options):
                out = os.path.join(self.folder.name, f"run-{name}-{len(options)}")
                rudder.train(self.parts, out=out, model=name, epochs=2, batch=64, hidden=8, dropout=0, seed=3, **options)
                model = kind(6, 8, 2, 4, dropout=0, **given)
                model.load_state_dict(rudder.state_dict(out))
                model.eval()
                with torch.no_grad():
                    theirs = model(x, edge_index)
                table = rudder.predict(out)
                scores = table[[name for name in table if name.startswith("score_")]].to_numpy()[original]
                ours = torch.from_numpy(scores).float()
                centre = theirs - theirs.mean(1, keepdim=True)
                self.assertTrue(torch.allclose(ours - ours.mean(1, keepdim=True), centre, atol=1e-3), (ours, theirs))
                back = os.path.join(self.folder.name, f"back-{name}-{len(options)}")
                rudder.write_state_dict(model.state_dict(), out, back)
                self.assertEqual(rudder.evaluate(back)["accuracy"], rudder.evaluate(out)["accuracy"])


class StoresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.parts = small_graph.make(cls.folder.name)
        cls.x = small_graph.arrays()[1][rudder.Dataset(cls.parts).original_ids()]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_rows_are_those_of_the_ids(self):
        store = rudder.pyg.FeatureStore(self.parts)
        for index in (torch.tensor([5, 3, 399]), torch.tensor([7, 7, 2, 7]), slice(10, 20), slice(None)):
            rows = store.get_tensor(group_name=None, attr_name="x", index=index)
            wanted = self.x[index if isinstance(index, slice) else index.numpy()]
            self.assertEqual(rows.tolist(), wanted.tolist())
        self.assertEqual(store.get_tensor_size(store.get_all_tensor_attrs()[0]), (400, 6))
        y = torch.arange(400)
        self.assertTrue(store.put_tensor(y, group_name=None, attr_name="y", index=None))
        self.assertEqual(store.get_tensor(group_name=None, attr_name="y", index=torch.tensor([4, 9])).tolist(), [4, 9])
        self.assertFalse(store.put_tensor(y, group_name=None, attr_name="x", index=None))
        with self.assertRaises(rudder.Error):
            store.get_tensor(group_name=None, attr_name="x", index=torch.tensor([400]))
        with self.assertRaises(rudder.Error) as caught:
            import pickle

            pickle.dumps(store)
        self.assertIn("pickled", str(caught.exception))

    def test_a_sampler_of_ones_own(self):
        from torch_geometric.loader import NodeLoader
        from torch_geometric.sampler import BaseSampler, SamplerOutput

        features = rudder.pyg.FeatureStore(self.parts)
        graph = rudder.pyg.GraphStore(self.parts)
        row, colptr = graph.get_edge_index(edge_type=None, layout="csc")

        class Whole(BaseSampler):
            """All neighbours of the seeds."""

            edge_permutation = None

            def sample_from_edges(self, index, neg_sampling=None):
                raise NotImplementedError

            def sample_from_nodes(self, index):
                seeds = index.node
                pieces = [row[colptr[v]:colptr[v + 1]] for v in seeds]
                sources = torch.cat(pieces)
                others = torch.tensor(sorted(set(sources.tolist()) - set(seeds.tolist())), dtype=torch.long)
                node = torch.cat([seeds, others])
                place = torch.full((400,), -1)
                place[node] = torch.arange(len(node))
                col = torch.repeat_interleave(torch.arange(len(seeds)), torch.tensor([len(p) for p in pieces]))
                return SamplerOutput(node, place[sources], col, None, metadata=(index.input_id, None))

        loader = NodeLoader((features, graph), Whole(), input_nodes=torch.arange(400), batch_size=50)
        seen = 0
        for batch in loader:
            self.assertEqual(batch.x.tolist(), self.x[batch.n_id.numpy()].tolist())
            seen += batch.edge_index.shape[1]
        self.assertEqual(seen, rudder.Dataset(self.parts).num_edges)
        self.assertEqual(features.stats()["steps"] > 0 or features.stats()["rows"]["local"] > 0, True)

    def test_edges_are_those_of_the_graph(self):
        graph = rudder.pyg.GraphStore(self.parts, edge_type=("node", "to", "node"))
        attributes = graph.get_all_edge_attrs()
        self.assertEqual([attribute.edge_type for attribute in attributes], [("node", "to", "node")])
        row, colptr = graph.get_edge_index(attributes[0])
        edge_index = rudder.Dataset(self.parts).edge_index()
        self.assertEqual(row.tolist(), edge_index[0].tolist())
        destination = torch.repeat_interleave(torch.arange(400), colptr.diff())
        self.assertEqual(destination.tolist(), edge_index[1].tolist())


if __name__ == "__main__":
    unittest.main()
