"""DGL's partition folders, written here byte by byte as DGL writes them."""

import json
import os
import struct
import subprocess
import sys
import unittest

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402
from rudder.dgl_files import read_graph, read_tensors  # noqa: E402

codes = {"i": 0, "u": 1, "b": 1, "f": 2}


def words(*numbers):
    return b"".join(struct.pack("<Q", number) for number in numbers)


def text(value):
    return words(len(value)) + value.encode()


def array(values):
    """A tensor on the CPU."""
    values = numpy.ascontiguousarray(values)
    kind = (codes[values.dtype.kind], 8 * values.dtype.itemsize if values.dtype.kind != "b" else 8, 1)
    return (words(0xDD5E40F096B4A13F, 0) + struct.pack("<iii", 1, 0, values.ndim) + struct.pack("<BBH", *kind)
            + b"".join(struct.pack("<q", extent) for extent in values.shape) + struct.pack("<q", values.nbytes)
            + values.tobytes())


def named(tensors):
    return words(len(tensors)) + b"".join(text(name) + array(values) for name, values in tensors.items())


def tensors_file(tensors):
    return words(0xDD5A9FBE3FA2443F, len(tensors)) + named(tensors)


def compressed(rows, columns, ids, count):
    order = numpy.argsort(rows, kind="stable")
    offsets = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(rows, minlength=count))]).astype(numpy.int64)
    return (words(0xDD6CD31205DFF127) + struct.pack("<qq", count, count) + array(offsets) + array(columns[order])
            + array(ids[order]) + b"\0")


def meta():
    """The graph of types: one type of vertices, one of edges."""
    one = numpy.zeros(1, numpy.int64)
    return words(0xDD3C5FFE20046ABF) + compressed(one, one, one, 1)


def relation(source, destination, count, form):
    ids = numpy.arange(len(source))
    code = {"coo": 1, "csr": 2, "csc": 4, "all": 7}[form]
    made = words(0xDD2E60F0F6B4A127) + struct.pack("<qq", code | 1 << 32, 7 | 1 << 32)
    if code & 1:
        made += meta() + words(0xDD61FFD305DFF127) + struct.pack("<qq", count, count)
        made += array(source) + array(destination) + array(ids[:0]) + b"\0\0"
    if code & 2:
        made += meta() + compressed(source, destination, ids, count)
    if code & 4:
        made += meta() + compressed(destination, source, ids, count)
    return made


def graph_file(source, destination, count, nodes, edges, form):
    labels = named({})
    head = words(0xDD2E4FF046B4A13F, 2, 2, 1).ljust(4096, b"\0")
    start = len(head) + 8 + len(labels)
    graph = (words(0xDD589FBE35224ABF) + meta() + words(1) + relation(source, destination, count, form) + words(1)
             + struct.pack("<q", count) + words(1) + named(nodes) + words(1) + named(edges) + words(1) + text("_N")
             + words(1) + text("_E"))
    index = words(1, start)
    return head + words(start) + labels + graph + words(len(index)) + index + words(len(index) + 8)


class DglTest(unittest.TestCase):
    def setUp(self):
        self.folder = small_graph.temporary()
        self.addCleanup(self.folder.cleanup)
        draws = numpy.random.default_rng(3)
        self.count = 60
        pairs = {(int(a), int(b)) for a, b in draws.integers(0, self.count, (300, 2)) if a != b}
        self.edges = numpy.array(sorted(pairs)).T
        self.x = draws.random((self.count, 5), dtype=numpy.float32)
        self.y = draws.integers(0, 3, self.count)
        self.role = draws.integers(0, 3, self.count)
        # Vertex v of the graph is vertex new[v] of the partition, whose parts own stretches.
        self.new = draws.permutation(self.count)

    def place(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, form="csc", original=True, parts=((0, 25), (25, 60)), **changed):
        """The folder as dgl.distributed.partition_graph makes it."""
        old = numpy.argsort(self.new)
        new_edges = self.new[self.edges]
        config = {"graph_name": "small", "num_nodes": self.count, "num_edges": self.edges.shape[1], "part_method": "metis",
                  "num_parts": len(parts), "halo_hops": 1, "node_map": {"_N": [list(part) for part in parts]},
                  "ntypes": {"_N": 0}, "etypes": {"_N:_E:_N": 0}}
        for number, (begin, end) in enumerate(parts):
            folder = f"part{number}"
            os.makedirs(self.place(folder), exist_ok=True)
            into = (new_edges[1] >= begin) & (new_edges[1] < end)
            own = numpy.arange(begin, end)
            halo = numpy.setdiff1d(new_edges[0][into], own)
            ids = numpy.concatenate([own, halo])
            local = numpy.full(self.count, -1)
            local[ids] = numpy.arange(len(ids))
            # An edge between vertices of the halo is there, too, as with more hops.
            outer = numpy.flatnonzero(~into & (local[new_edges[0]] >= 0) & (local[new_edges[1]] >= 0))[:3]
            chosen = numpy.concatenate([numpy.flatnonzero(into), outer])
            nodes = {"_ID": ids, "inner_node": (ids >= begin) & (ids < end), "part_id": ids * 0}
            if original:
                nodes["orig_id"] = old[ids]
            edges = {"_ID": chosen, "inner_edge": numpy.isin(chosen, numpy.flatnonzero(into)).astype(numpy.uint8)}
            features = {"_N/feat": self.x[old[own]], "_N/label": self.y[old[own]],
                        "_N/train_mask": (self.role == 0)[old[own]], "_N/val_mask": (self.role == 1)[old[own]],
                        "_N/test_mask": (self.role == 2)[old[own]].astype(numpy.uint8)}
            features.update(changed)
            with open(self.place(f"{folder}/graph.dgl"), "wb") as file:
                file.write(graph_file(local[new_edges[0][chosen]], local[new_edges[1][chosen]], len(ids), nodes, edges, form))
            with open(self.place(f"{folder}/node_feat.dgl"), "wb") as file:
                file.write(tensors_file(features))
            config[f"part-{number}"] = {"part_graph": f"{folder}/graph.dgl", "node_feats": f"{folder}/node_feat.dgl",
                                        "edge_feats": f"{folder}/edge_feat.dgl"}
        with open(self.place("small.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return self.place("small.json")

    def test_a_partition_becomes_the_graph_it_was(self):
        for form in ("coo", "csr", "csc", "all"):
            with self.subTest(form):
                data = rudder.Dataset.from_dgl(self.place(f"graph-{form}"), self.write(form))
                self.assertEqual((data.num_nodes, data.num_features, data.num_classes), (self.count, 5, 3))
                self.assertEqual({tuple(edge) for edge in data.edge_index().T.tolist()},
                                 {tuple(edge) for edge in self.edges.T.tolist()})
                self.assertEqual(data.num_edges, self.edges.shape[1])
                roles = {name: int((self.role == number).sum()) for number, name in enumerate(("train", "valid", "test"))}
                self.assertEqual(data.split, roles)
                parts = data.partition(2, self.place(f"parts-{form}"), method="ldg")
                for role, number in (("train", 0), ("test", 2)):
                    loader = rudder.NeighborLoader(parts.path, [2], 8, input_nodes=role, output="numpy", agent="never")
                    seen = 0
                    for batch in loader:
                        vertices = parts.original_ids()[batch.n_id]
                        numpy.testing.assert_array_equal(batch.x, self.x[vertices])
                        numpy.testing.assert_array_equal(batch.y, self.y[vertices[:batch.batch_size]])
                        self.assertEqual(set(self.role[vertices[:batch.batch_size]]) - {number}, set())
                        seen += batch.batch_size
                    self.assertEqual(seen, int((self.role == number).sum()))

    def test_without_original_ids_those_of_the_partition_stay(self):
        data = rudder.Dataset.from_dgl(self.place("graph"), self.write(original=False))
        self.assertEqual({tuple(edge) for edge in data.edge_index().T.tolist()},
                         {tuple(edge) for edge in self.new[self.edges].T.tolist()})

    def test_tensors_of_every_type(self):
        tensors = {name: numpy.arange(6).reshape(2, 3).astype(name)
                   for name in ("int8", "int32", "int64", "uint8", "float16", "float32", "float64", "bool")}
        with open(self.place("tensors.dgl"), "wb") as file:
            file.write(tensors_file(tensors))
        read = read_tensors(self.place("tensors.dgl"))
        for name, values in tensors.items():
            numpy.testing.assert_array_equal(read[name], values, name)

    def test_names_are_chosen(self):
        path = self.write(**{"_N/other": numpy.ones((35, 2), numpy.float32)})
        with self.assertRaises(rudder.Error) as caught:
            rudder.Dataset.from_dgl(self.place("graph"), path, features="another")
        self.assertIn("feat", str(caught.exception))
        with self.assertRaises(rudder.Error) as caught:  # 25 and 35 rows, and 35 were given
            rudder.Dataset.from_dgl(self.place("graph"), path, features="other")
        self.assertIn("35 rows", str(caught.exception))

    def test_damaged_files_are_named(self):
        path = self.write()
        graph = self.place("part1/graph.dgl")
        with open(graph, "rb") as file:
            whole = file.read()
        draws = numpy.random.default_rng(5)
        cuts = [0, 7, 4095, 4100, 4200, len(whole) // 2] + draws.integers(4096, len(whole) - 200, 20).tolist()
        for cut in cuts:
            with open(graph, "wb") as file:
                file.write(whole[:cut])
            with self.assertRaises(rudder.Error) as caught:
                read_graph(graph)
            self.assertEqual(caught.exception.kind, "input")
            self.assertIn("graph.dgl", str(caught.exception))
        with open(graph, "wb") as file:
            file.write(b"x" * len(whole))
        with self.assertRaises(rudder.Error):
            rudder.Dataset.from_dgl(self.place("graph"), path)
        os.remove(graph)
        with self.assertRaises(rudder.Error) as caught:
            rudder.Dataset.from_dgl(self.place("graph"), path)
        self.assertEqual(caught.exception.kind, "input")
        self.assertFalse(os.path.exists(self.place("graph")))

    def test_from_the_command_line(self):
        def run(*words):
            return subprocess.run([sys.executable, "-m", "rudder.dgl", *words], capture_output=True, text=True)

        path = self.write()
        made = run(path, self.place("graph"))
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertIn(f"{self.count} vertices, {self.edges.shape[1]} edges, 5 features", made.stdout)
        again = run(path, self.place("graph"))
        self.assertEqual(again.returncode, 2)
        self.assertIn("to do:", again.stderr)
        self.assertEqual(run(path, self.place("graph"), "--force").returncode, 0)
        self.assertEqual(run(self.place("nothing.json"), self.place("other")).returncode, 3)

    def test_the_program_makes_the_same_data_set(self):
        def program(*words):
            return subprocess.run([os.environ["RUDDER_PROGRAM"], *words], capture_output=True, text=True)

        def arrays(name):
            self.assertEqual(program("export", self.place(name), self.place(name + ".npz")).returncode, 0)
            with numpy.load(self.place(name + ".npz")) as made:
                return {key: made[key] for key in made.files}

        for number, options in enumerate(({}, {"form": "coo", "original": False}, {"form": "all"}, {"form": "csr"})):
            path = self.write(**options)
            made = program("import-dgl", path, self.place(f"program-{number}"))
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            rudder.Dataset.from_dgl(self.place(f"package-{number}"), path)
            ours, theirs = arrays(f"program-{number}"), arrays(f"package-{number}")
            self.assertEqual(set(ours), set(theirs))
            for name, values in theirs.items():
                numpy.testing.assert_array_equal(ours[name], values, name)
        self.assertEqual(program("import-dgl", path, self.place("program-0")).returncode, 2)
        self.assertEqual(program("import-dgl", self.place("nothing.json"), self.place("other")).returncode, 3)
        self.assertEqual(program("import-dgl", path, self.place("other"), "--features", "another").returncode, 3)

    def test_parts_that_do_not_add_up(self):
        path = self.write(parts=((0, 25), (30, 60)))
        with self.assertRaises(rudder.Error) as caught:
            rudder.Dataset.from_dgl(self.place("graph"), path)
        self.assertIn("55 vertices", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
