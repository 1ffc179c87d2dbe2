"""Graphs of several types: made of arrays, and loaded, with NumPy's arrays."""

import os
import subprocess
import sys
import unittest

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402

counts = {"user": 150, "item": 260, "tag": 40}
widths = {"user": 3, "item": 5, "tag": 0}
kinds = {("user", "buys", "item"): 1200, ("user", "knows", "user"): 500, ("item", "has", "tag"): 600}


def arrays(seed=4):
    """Random edges; column 0 of the features is the vertex, the class of an item is its number modulo 3."""
    draws = numpy.random.default_rng(seed)
    edges = {kind: numpy.stack([draws.integers(0, counts[kind[0]], count), draws.integers(0, counts[kind[2]], count)])
             for kind, count in kinds.items()}
    x = {}
    for name, width in widths.items():
        if width:
            x[name] = draws.random((counts[name], width), dtype=numpy.float32)
            x[name][:, 0] = numpy.arange(counts[name])
    return edges, x, {"item": numpy.arange(counts["item"]) % 3}


def stored(edges):
    """What import makes of them: by type, pairs, those between different types both ways."""
    made = {}
    for (source, name, destination), ends in edges.items():
        pairs = {(int(a), int(b)) for a, b in ends.T if source != destination or a != b}
        back = {(b, a) for a, b in pairs}
        made[source, name, destination] = pairs | back if source == destination else pairs
        if source != destination:
            made[destination, "rev_" + name, source] = back
    return made


class TypedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.edges, cls.x, cls.y = arrays()
        cls.stored = stored(cls.edges)
        cls.data = rudder.Dataset.from_arrays(os.path.join(cls.folder.name, "graph"), cls.edges, cls.x, cls.y,
                                              num_nodes=counts)
        cls.parts = cls.data.partition(2, method="ldg")
        cls.original = cls.parts.original_ids()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def loader(self, **options):
        options = {"num_neighbors": [4, 3], "batch_size": 32, "output": "numpy", **options}
        return rudder.NeighborLoader(self.parts.path, **options)

    def test_arrays_become_a_data_set(self):
        self.assertEqual(self.data.node_types, ["user", "item", "tag"])
        self.assertEqual(self.data.num_nodes_dict, counts)
        self.assertEqual(self.data.num_features_dict, widths)
        self.assertEqual(self.data.num_features, 5)
        self.assertEqual((self.data.labelled_type, self.data.num_classes), ("item", 3))
        self.assertEqual(self.data.edge_types, list(kinds) + [("item", "rev_buys", "user"), ("tag", "rev_has", "item")])

    def test_edges_are_those_that_were_given(self):
        for data in (self.data, self.parts):
            original = data.original_ids()
            for (source, name, destination), ends in data.edge_index().items():
                pairs = set(zip(original[source][ends[0]].tolist(), original[destination][ends[1]].tolist()))
                self.assertEqual(len(pairs), ends.shape[1])
                self.assertEqual(pairs, self.stored[source, name, destination])
        for name, ids in self.original.items():
            self.assertEqual(sorted(ids), list(range(counts[name])))

    def test_a_batch_is_a_piece_of_the_graph(self):
        loader = self.loader()
        self.assertEqual(loader.num_features_dict, widths)
        seen = {kind: 0 for kind in self.stored}
        for batch in loader:
            self.assertEqual(batch.node_types, list(counts))
            self.assertEqual(set(batch.edge_types), set(self.stored))
            self.assertEqual(set(batch.x_dict), {"user", "item"})
            for name, ids in batch.n_id_dict.items():
                vertex = self.original[name][ids]
                self.assertEqual(len(set(vertex.tolist())), len(ids))
                self.assertEqual(sum(batch[name].num_sampled_nodes), len(ids))
                if name in self.x:
                    self.assertEqual(batch[name].x.dtype, numpy.float32)
                    numpy.testing.assert_array_equal(batch[name].x, self.x[name][vertex])
            for kind, ends in batch.edge_index_dict.items():
                source = self.original[kind[0]][batch[kind[0]].n_id][ends[0]]
                destination = self.original[kind[2]][batch[kind[2]].n_id][ends[1]]
                self.assertLessEqual(set(zip(source.tolist(), destination.tolist())), self.stored[kind])
                self.assertEqual(sum(batch[kind].num_sampled_edges), ends.shape[1])
                seen[kind] += ends.shape[1]
            seeds = batch["item"]
            self.assertEqual(seeds.num_sampled_nodes[0], seeds.batch_size)
            self.assertEqual(batch["user"].num_sampled_nodes[0], 0)
            numpy.testing.assert_array_equal(seeds.y, self.original["item"][seeds.n_id[:seeds.batch_size]] % 3)
            self.assertNotIn("y", batch["user"])
        self.assertTrue(all(seen.values()), seen)

    def test_edges_of_a_hop_reach_no_further_than_it(self):
        for batch in self.loader():
            for number in range(2):
                edges, sources, destinations = rudder.layer(batch, number)
                for (source, name, destination), ends in edges.items():
                    if ends.size:
                        self.assertLess(ends[0].max(), sources[source])
                        self.assertLess(ends[1].max(), destinations[destination])
            self.assertEqual(rudder.layer(batch, 0)[1], {name: len(ids) for name, ids in batch.n_id_dict.items()})
            self.assertEqual(destinations, {"user": 0, "item": batch["item"].batch_size, "tag": 0})
            with self.assertRaises(IndexError):
                rudder.layer(batch, 2)

    def test_fan_outs_of_types(self):
        fanout = {"buys": [2, 0], ("item", "rev_buys", "user"): [0, 1], "knows": [0, -1], "has": [0, 0], "rev_has": [1, 0]}
        for batch in self.loader(num_neighbors=fanout):
            edges = batch.num_sampled_edges_dict
            self.assertEqual(edges["item", "has", "tag"], [0, 0])
            self.assertEqual(edges["item", "rev_buys", "user"][0], 0)
            self.assertEqual(edges["user", "buys", "item"][1], 0)
            ends = rudder.layer(batch, 1)[0]["user", "buys", "item"]
            self.assertLessEqual(numpy.bincount(ends[1], minlength=1).max(), 2)
        for wrong, word in (({"buys": [2, 2]}, "lacks"), ({**fanout, "sells": [1, 1]}, "sells"),
                            ({**fanout, "has": [1]}, "fan-outs")):
            with self.subTest(word), self.assertRaises(rudder.Error) as caught:
                self.loader(num_neighbors=wrong)
            self.assertEqual(caught.exception.kind, "usage")
            self.assertIn(word, str(caught.exception))

    def test_numbers_of_edges_are_entries_of_the_type(self):
        edges = self.parts.edge_index()
        for sampler in ("plain", "shared"):
            for batch in self.loader(edge_ids=True, sampler=sampler, num_neighbors=[-1, 2]):
                for (source, name, destination), ends in batch.edge_index_dict.items():
                    number = batch[source, name, destination].e_id
                    given = numpy.stack([batch[source].n_id[ends[0]], batch[destination].n_id[ends[1]]])
                    numpy.testing.assert_array_equal(edges[source, name, destination][:, number], given)

    def test_an_epoch_has_every_seed_once(self):
        loader = self.loader(input_nodes=("item", "valid"))
        for _ in range(2):
            positions = numpy.concatenate([batch["item"].input_id for batch in loader])
            self.assertEqual(sorted(positions), list(range(self.data.split["valid"])))
        with self.assertRaises(rudder.Error) as caught:
            self.loader(input_nodes=("user", "train"))
        self.assertIn("'user'", str(caught.exception))

    def test_the_same_rows_are_fetched_as_in_training(self):
        options = {"epochs": 2, "seed": 3, "policy": "window:8"}
        loader = self.loader(**options)
        for _ in range(2):
            for _ in loader:
                pass
        loader.close()
        run = rudder.train(self.parts.path, model="sage", fanout=[3, 4], batch=32, hidden=4, **options)
        rows = loader.stats()["rows"]
        for name in ("needed", "local", "hit", "demand", "replacement", "ahead"):
            self.assertEqual(rows[name], run.summary["rows"][name], name)

    def test_links_of_a_type(self):
        kind = ("user", "buys", "item")
        seen = {}
        for role in ("train", "valid", "test"):
            loader = rudder.LinkNeighborLoader(self.parts.path, [4, 3], 100, (kind, role), negatives="uniform:2",
                                               output="numpy")
            seen[role] = set()
            for batch in loader:
                asked = batch[kind]
                self.assertNotIn("edge_label_index", batch["item", "rev_buys", "user"])
                pairs = asked.edge_label_index
                self.assertEqual(pairs.shape, (2, 3 * asked.batch_size))
                self.assertEqual(asked.edge_label.sum(), asked.batch_size)
                self.assertEqual(len(asked.input_id), asked.batch_size)
                ends = [self.original[name][batch[name].n_id] for name in ("user", "item")]
                named = list(zip(ends[0][pairs[0]].tolist(), ends[1][pairs[1]].tolist()))
                links = set(named[:asked.batch_size])
                self.assertLessEqual(links, self.stored[kind])
                seen[role] |= links
                passed = {(int(ends[0][a]), int(ends[1][b])) for a, b in batch[kind].edge_index.T}
                back = {(int(ends[0][b]), int(ends[1][a])) for a, b in batch["item", "rev_buys", "user"].edge_index.T}
                self.assertFalse((passed | back) & links)
        self.assertEqual(set().union(*seen.values()), self.stored[kind])
        self.assertEqual(sum(map(len, seen.values())), len(self.stored[kind]))
        self.assertGreater(len(seen["train"]), 5 * len(seen["test"]))
        with self.assertRaises(rudder.Error) as caught:
            rudder.LinkNeighborLoader(self.parts.path, [4, 3])
        self.assertIn("link-type", str(caught.exception))

    def test_what_is_exported_is_read_again(self):
        archive = os.path.join(self.folder.name, "graph.npz")
        subprocess.run([os.environ["RUDDER_PROGRAM"], "export", self.data.path, archive, "--quiet"], check=True)
        again = os.path.join(self.folder.name, "again")
        subprocess.run([os.environ["RUDDER_PROGRAM"], "import", archive, again, "--quiet"], check=True)
        again = rudder.Dataset(again)
        self.assertEqual((again.num_nodes_dict, again.num_features_dict), (counts, widths))
        self.assertEqual(again.split, self.data.split)
        ours, theirs = self.data.edge_index(), again.edge_index()
        self.assertEqual(list(ours), list(theirs))
        for kind in ours:
            numpy.testing.assert_array_equal(ours[kind], theirs[kind])

    def test_arrays_that_do_not_fit_are_refused(self):
        edges, x, y = arrays()
        place = os.path.join(self.folder.name, "wrong")
        beyond = {**edges, ("user", "buys", "item"): numpy.array([[0], [counts["item"]]])}
        for word, given in {"'item'": (beyond, x, y), "two rows": ({("a", "b", "c"): numpy.zeros((3, 2), int)},),
                            "'ab'": ({"ab": numpy.zeros((2, 2), int)},), "y is given": (edges, x, {**y, "user": [0] * 150}),
                            "has 10 rows": (edges, {**x, "user": x["user"][:10]}, y), "not a dictionary": (edges, x["user"])}.items():
            with self.subTest(word), self.assertRaises(rudder.Error) as caught:
                rudder.Dataset.from_arrays(place, *given, num_nodes=counts if word != "two rows" else None)
            self.assertEqual(caught.exception.kind, "input")
            self.assertIn(word, str(caught.exception))
        self.assertFalse(os.path.exists(place))

    def test_edges_one_way(self):
        edges, x, y = arrays()
        data = rudder.Dataset.from_arrays(os.path.join(self.folder.name, "one-way"), edges, x, y, num_nodes=counts,
                                          directed=True, train_mask={"item": numpy.arange(counts["item"]) < 100})
        self.assertEqual(data.edge_types, list(kinds))
        self.assertEqual(data.split, {"train": 100, "valid": 0, "test": 0})
        for (source, name, destination), ends in data.edge_index().items():
            self.assertEqual(set(zip(*ends.tolist())),
                             {(a, b) for a, b in zip(*edges[source, name, destination].tolist())
                              if source != destination or a != b})


if __name__ == "__main__":
    unittest.main()
