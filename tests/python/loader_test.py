"""The loader in one process, with NumPy's arrays."""

import gc
import os
import pickle
import signal
import sys
import threading
import unittest

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402


class LoaderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.parts = small_graph.make(cls.folder.name)
        cls.edges = small_graph.edges_of(small_graph.arrays()[0])
        cls.x = small_graph.arrays()[1]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def loader(self, **options):
        options = {"num_neighbors": [5, 3], "batch_size": 32, "output": "numpy", **options}
        return rudder.NeighborLoader(self.parts, **options)

    def test_a_batch_is_a_piece_of_the_graph(self):
        loader = self.loader()
        self.assertGreater(len(loader), 4)
        count = 0
        for batch in loader:
            count += 1
            self.assertEqual(batch.x.dtype, numpy.float32)
            self.assertEqual(batch.edge_index.dtype, numpy.int64)
            self.assertEqual(batch.x.shape, (batch.num_nodes, 6))
            vertex = batch.x[:, 0].astype(int)
            self.assertEqual(len(set(vertex)), batch.num_nodes)
            numpy.testing.assert_array_equal(batch.x, self.x[vertex])
            numpy.testing.assert_array_equal(batch.y, vertex[:batch.batch_size] % small_graph.classes)
            for source, destination in batch.edge_index.T:
                self.assertIn((vertex[source], vertex[destination]), self.edges)
            self.assertEqual(sum(batch.num_sampled_nodes), batch.num_nodes)
            self.assertEqual(sum(batch.num_sampled_edges), batch.edge_index.shape[1])
            self.assertEqual(batch.num_sampled_nodes[0], batch.batch_size)
        self.assertEqual(count, len(loader))

    def test_the_first_number_is_of_the_first_hop(self):
        batch = next(iter(self.loader(num_neighbors=[1, -1])))
        edges, sources, destinations = rudder.layer(batch, 1)
        self.assertEqual(destinations, batch.batch_size)
        self.assertLessEqual(numpy.bincount(edges[1], minlength=destinations).max(), 1)
        edges, sources, destinations = rudder.layer(batch, 0)
        self.assertEqual(sources, batch.num_nodes)
        self.assertGreater(numpy.bincount(edges[1], minlength=destinations).max(), 1)
        with self.assertRaises(IndexError):
            rudder.layer(batch, 2)

    def test_edges_of_a_hop_reach_no_further_than_it(self):
        for batch in self.loader():
            reached = batch.batch_size
            first = 0
            for added, edges in zip(batch.num_sampled_nodes[1:], batch.num_sampled_edges):
                hop = batch.edge_index[:, first:first + edges]
                if edges:
                    self.assertLess(hop[1].max(), reached)
                    self.assertLess(hop[0].max(), reached + added)
                reached += added
                first += edges

    def test_an_epoch_has_every_vertex_once(self):
        loader = self.loader()
        for _ in range(3):
            positions = numpy.concatenate([batch.input_id for batch in loader])
            self.assertEqual(sorted(positions), list(range(len(positions))))
            self.assertEqual(len(positions), rudder.Dataset(self.parts).split["train"])

    def test_the_same_seed_gives_the_same_batches(self):
        def ids(**options):
            return [batch.n_id.tolist() for batch in self.loader(**options)]

        self.assertEqual(ids(seed=3), ids(seed=3))
        self.assertNotEqual(ids(seed=3), ids(seed=4))

    def test_epochs_differ_unless_they_are_not_shuffled(self):
        def seeds(loader):
            return [batch.n_id[:batch.batch_size].tolist() for batch in loader]

        loader = self.loader()
        self.assertNotEqual(seeds(loader), seeds(loader))
        loader = self.loader(shuffle=False)
        first = seeds(loader)
        self.assertEqual(first, seeds(loader))

    def test_an_early_break_ends_the_epoch(self):
        whole = self.loader()
        epochs = [[batch.n_id.tolist() for batch in whole] for _ in range(3)]
        loader = self.loader()
        for number, taken in enumerate((1, len(loader) - 1, len(loader))):
            batches = []
            for batch in loader:
                batches.append(batch.n_id.tolist())
                if len(batches) == taken:
                    break
            self.assertEqual(batches, epochs[number][:taken])

    def test_an_epoch_that_is_left_is_not_drawn(self):
        def edges(taken):
            loader = self.loader(batch_size=2, policy="window:2", agent="never", options={"sample-tasks": 1})
            self.assertGreater(loader.steps_per_epoch, 30)
            for count, _ in enumerate(loader, 1):
                if count == taken:
                    break
            next(iter(loader))
            stats = loader.stats()
            self.assertEqual(stats["steps"], loader.steps_per_epoch)
            return stats["edges"]

        whole = edges(len(self.loader(batch_size=2)))
        self.assertLess(edges(1) * 3, whole)

    def test_edges_have_their_numbers(self):
        data = rudder.Dataset(self.parts)
        all_edges = data.edge_index()
        self.assertEqual(all_edges.shape, (2, data.num_edges))
        original = data.original_ids()
        self.assertEqual({(int(original[a]), int(original[b])) for a, b in all_edges.T}, self.edges)
        for batch in self.loader(edge_ids=True):
            numpy.testing.assert_array_equal(all_edges[:, batch.e_id], batch.n_id[batch.edge_index])
            numpy.testing.assert_array_equal(batch.x[:, 0], original[batch.n_id])
        self.assertIsNone(next(iter(self.loader())).e_id)
        with self.assertRaises(rudder.Error) as caught:
            self.loader(edge_ids=True, options={"topology": "partitioned"})
        self.assertEqual(caught.exception.kind, "usage")

    def test_an_iterator_that_was_not_used_is_no_epoch(self):
        loader = self.loader()
        first = self.loader()
        iter(loader)
        self.assertEqual(next(iter(loader)).n_id.tolist(), next(iter(first)).n_id.tolist())

    def test_only_one_epoch_at_a_time(self):
        loader = self.loader()
        old = iter(loader)
        next(old)
        next(iter(loader))
        with self.assertRaises(rudder.Error) as caught:
            for _ in old:
                pass
        self.assertEqual(caught.exception.kind, "usage")

    def test_epochs_that_were_announced_are_all_there_are(self):
        loader = self.loader(epochs=2)
        for _ in range(2):
            self.assertEqual(len(list(loader)), len(loader))
        with self.assertRaises(rudder.Error):
            next(iter(loader))

    def test_arrays_stay_as_they_are(self):
        loader = self.loader()
        batches = [batch for _ in range(3) for batch in loader]
        kept = [(batch.x.copy(), batch.n_id.copy(), batch.edge_index.copy()) for batch in batches]
        del loader
        gc.collect()
        for batch, (x, n_id, edge_index) in zip(batches, kept):
            numpy.testing.assert_array_equal(batch.x, x)
            numpy.testing.assert_array_equal(batch.n_id, n_id)
            numpy.testing.assert_array_equal(batch.edge_index, edge_index)

    def test_memory_is_used_again_once_it_is_free(self):
        loader = self.loader()
        places = set()
        for _ in range(20):
            for batch in loader:
                places.add(batch.x.__array_interface__["data"][0])
        self.assertLess(len(places), len(loader) * 5)

    def test_arrays_may_be_written_to(self):
        loader = self.loader(shuffle=False)
        batch = next(iter(loader))
        batch.x[:] = -1
        del batch
        for batch in loader:
            self.assertTrue((batch.x[:, 0] >= 0).all())

    def test_arrays_are_shared_and_not_copied(self):
        arrays = self.loader()._engine.next()[0]
        for name in ("x", "y", "edge_index", "n_id", "input_id"):
            by_buffer = numpy.frombuffer(memoryview(arrays[name]).cast("B"), numpy.uint8)
            by_dlpack = numpy.from_dlpack(arrays[name])
            given = numpy.asarray(arrays[name])
            self.assertEqual(given.ctypes.data, by_buffer.ctypes.data, name)
            self.assertEqual(given.ctypes.data, by_dlpack.ctypes.data, name)
            given.reshape(-1)[:1] = 17
            self.assertEqual(by_dlpack.reshape(-1)[0], 17, name)
            self.assertEqual(by_buffer.view(given.dtype)[0], 17, name)

    def test_ids_may_be_any_buffer(self):
        from array import array

        from rudder import _rudder

        reader = _rudder.RowReader(self.parts, '{"policy": "lru"}')
        wanted = [5, 3, 399]
        original = rudder.Dataset(self.parts).original_ids()
        for ids in (array("q", wanted), numpy.array(wanted), memoryview(numpy.array(wanted))):
            rows = numpy.asarray(reader.rows(ids))
            self.assertEqual(rows[:, 0].tolist(), original[wanted].tolist(), type(ids))

    def test_several_loaders_at_once(self):
        train = self.loader()
        valid = self.loader(input_nodes="valid", shuffle=False)
        alone = [batch.n_id.tolist() for batch in self.loader()]
        mixed = []
        others = iter(valid)
        for batch in train:
            mixed.append(batch.n_id.tolist())
            next(others, None)
        self.assertEqual(mixed, alone)

    def test_input_nodes(self):
        split = rudder.Dataset(self.parts).split
        for role, name in (("train", "train"), ("valid", "valid"), ("val", "valid"), ("test", "test")):
            seeds = sum(batch.batch_size for batch in self.loader(input_nodes=role))
            self.assertEqual(seeds, split[name])

    def test_a_data_set_is_divided(self):
        graph = os.path.join(self.folder.name, "graph")
        loader = rudder.NeighborLoader(graph, [4], 50, output="numpy")
        self.assertTrue(loader.path.endswith("graph.parts-1"))
        self.assertEqual(sum(batch.batch_size for batch in loader), rudder.Dataset(graph).split["train"])

    def test_stats(self):
        loader = self.loader(policy="window:4", floor=True)
        list(loader)
        stats = loader.stats()
        self.assertEqual(stats["steps"], loader.steps_per_epoch)
        self.assertEqual(stats["rows"]["needed"], stats["rows"]["local"])
        self.assertIsNone(stats["floor"])
        loader.close()
        self.assertEqual(loader.stats()["floor"], 0)
        with self.assertRaises(rudder.Error):
            next(iter(loader))

    def test_options_of_the_program(self):
        loader = self.loader(policy="lru", buffer=0.5, agent="never", precision="bfloat16", sampler="plain",
                             options={"in-flight": 3})
        self.assertEqual(len(list(loader)), len(loader))

    def test_what_is_refused(self):
        refused = {
            "num_workers": {"num_workers": 2},
            "num_neighbors": {"num_neighbors": "many"},
            "input_nodes": {"input_nodes": "all"},
            "output": {"output": "arrow"},
            "policy": {"policy": "fastest"},
            "batch": {"batch_size": 0},
            "sampler": {"sampler": "better"},
            "speed": {"options": {"speed": 3}},
        }
        for word, options in refused.items():
            with self.subTest(word), self.assertRaises(rudder.Error) as caught:
                self.loader(**options)
            self.assertEqual(caught.exception.kind, "usage")
            self.assertIn(word, str(caught.exception))
            self.assertTrue(caught.exception.remedy)
        with self.assertRaises(rudder.Error) as caught:
            rudder.NeighborLoader(os.path.join(self.folder.name, "nowhere"), [5])
        self.assertEqual(caught.exception.kind, "input")

    def test_it_is_not_pickled(self):
        with self.assertRaises(rudder.Error) as caught:
            pickle.dumps(self.loader())
        self.assertIn("pickled", str(caught.exception))

    def test_a_forked_process_is_refused(self):
        loader = self.loader()
        batches = iter(loader)
        next(batches)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                list(batches)
            except rudder.Error as error:
                code = 0 if error.kind == "usage" and "fork" in str(error) else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(list(batches)), len(loader) - 1)

    def test_a_child_that_drops_a_loader_ends(self):
        script = """
import os, sys, rudder
loader = rudder.NeighborLoader(sys.argv[1], [5, 3], 32, output="numpy")
next(iter(loader))
child = os.fork()
if child == 0:
    del loader
    sys.exit(0)
print(os.waitpid(child, 0)[1], sum(1 for _ in loader) == len(loader))
"""
        code, out, err = small_graph.finish(small_graph.start(script, self.parts))
        self.assertEqual((code, out.strip(), err), (0, "0 True", ""))

    def test_a_program_may_end_in_the_middle(self):
        script = """
import sys, rudder
loader = rudder.NeighborLoader(sys.argv[1], [5, 3], 32, output="numpy")
other = rudder.NeighborLoader(sys.argv[1], [5, 3], 32, output="numpy")
held = [batch for batch in loader]
batches = iter(other)
batch = next(batches)
"""
        self.assertEqual(small_graph.finish(small_graph.start(script, self.parts)), (0, "", ""))
        code, out, err = small_graph.finish(small_graph.start(script + "raise ValueError('mine')", self.parts))
        self.assertEqual(code, 1)
        self.assertTrue(err.rstrip().endswith("ValueError: mine"), err)

    def test_an_interrupt_arrives_while_a_rank_is_missing(self):
        script = """
import sys, rudder
print("begun", flush=True)
try:
    rudder.NeighborLoader(sys.argv[1], [5, 3], 32, output="numpy")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    import os
    os._exit(0)
"""
        process = small_graph.start(script, self.parts, rank=0, size=2, port=small_graph.free_port())
        self.assertEqual(process.stdout.readline(), "begun\n")
        threading.Event().wait(1)
        process.send_signal(signal.SIGINT)
        code, out, err = small_graph.finish(process, 30)
        self.assertEqual((code, out), (0, "interrupted\n"), err)

    def test_importing_it_brings_nothing_else(self):
        script = "import sys, rudder; print([name for name in ('numpy', 'torch') if name in sys.modules])"
        self.assertEqual(small_graph.finish(small_graph.start(script))[1], "[]\n")
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "pyproject.toml"), encoding="utf-8") as file:
            self.assertIn(f'\nversion = "{rudder.version}"\n', file.read())


if __name__ == "__main__":
    unittest.main()
