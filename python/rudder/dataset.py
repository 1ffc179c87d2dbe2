"""Data sets in folders: made of arrays, opened, divided into parts."""

import json
import os
import tempfile

from . import _rudder
from ._errors import Error
from .typed import typed_arrays


def _places(ends, names, order):
    """Which vertex each end of an edge is."""
    import numpy

    at = numpy.searchsorted(names, ends, sorter=order)
    found = at < len(names)
    found[found] = names[order[at[found]]] == ends[found]
    if not found.all():
        raise Error(f"an edge names vertex {ends[~found][0]!r}, which is not among the vertices", "input", "edges",
                    "give each vertex a row")
    return order[at]


class Dataset:
    """A data set, or its parts, in a folder.

    ``num_nodes``, ``num_edges`` (stored arcs), ``num_features``, ``num_classes``, ``targets`` (the kind), ``split``
    (vertices per role) and ``parts`` (0: not divided) say what it holds. Of a graph of several types ``num_features`` is the
    width of the widest, ``num_features_dict`` has that of each, ``node_types`` and ``edge_types`` name them, and
    ``labelled_type`` is the one that has labels; in a graph of one type these are empty, or None.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        info = json.loads(_rudder.described(self.path))
        self.num_nodes = info["vertices"]
        self.num_edges = info["edges"]
        self.num_features = info["features"]
        self.targets = info["targets"]["kind"]
        self.num_classes = info["targets"]["count"]
        self.split = info["split"]
        self.parts = info["parts"]
        nodes = info.get("node_types", [])
        self.node_types = [entry["name"] for entry in nodes]
        self.edge_types = [tuple(names) for names in info.get("edge_types", [])]
        self.num_nodes_dict = {entry["name"]: entry["vertices"] for entry in nodes}
        self.num_features_dict = {entry["name"]: entry["features"] for entry in nodes}
        self.labelled_type = info.get("labelled_type")

    @classmethod
    def open(cls, path):
        """The data set or the parts that lie at ``path``."""
        return cls(path)

    @classmethod
    def from_arrays(cls, path, edge_index, x=None, y=None, *, train_mask=None, val_mask=None, test_mask=None,
                    edge_weight=None, num_nodes=None, directed=False, split=None, seed=0, force=False):
        """Makes a data set at ``path`` of arrays or tensors.

        ``edge_index`` has a row of sources and one of destinations; each edge is stored both ways unless ``directed``.
        ``y`` are classes (-1: none), a row of labels or numbers. Without masks the split is drawn: 60/20/20, or as
        ``split`` says (see ``rudder import --split``). ``force`` replaces what lies there.

        Several types: ``edge_index`` is a dictionary by ``(source type, name, destination type)``, each with a name of its own,
        and all else dictionaries by type of vertices (``edge_weight``: of edges). Ends of edges and masks count the
        vertices of their type, of which there are ``num_nodes``, or as many as rows of ``x``, ``y`` or a mask. One type
        has ``y``. Unless ``directed`` an edge between two types goes back as ``rev_NAME``.
        """
        import numpy

        if isinstance(edge_index, dict):
            given = {"x": x, "y": y, "train_mask": train_mask, "val_mask": val_mask, "test_mask": test_mask,
                     "edge_weight": edge_weight, "num_nodes": num_nodes}
            return cls._write(path, typed_arrays(edge_index, **given), directed, split, seed, force)
        arrays = {"edge_index": edge_index, "x": x, "y": y, "train_mask": train_mask, "val_mask": val_mask,
                  "test_mask": test_mask, "edge_weight": edge_weight, "num_nodes": num_nodes}
        arrays = {name: numpy.asarray(value) for name, value in arrays.items() if value is not None}
        return cls._write(path, arrays, directed, split, seed, force)

    @classmethod
    def _write(cls, path, arrays, directed, split, seed, force):
        """A data set of arrays as an archive has them."""
        import numpy

        path = os.fspath(path)
        folder = os.path.dirname(os.path.abspath(path))
        with tempfile.TemporaryDirectory(prefix=".rudder-", dir=folder) as beside:
            archive = os.path.join(beside, "arrays.npz")
            numpy.savez(archive, **arrays)
            _rudder.import_arrays(archive, path, directed, split or "", seed, force)
        return cls(path)

    @classmethod
    def from_pyg(cls, path, data, **options):
        """Makes a data set at ``path`` of a ``torch_geometric.data.Data`` or ``HeteroData``: its ``edge_index``, ``x``, ``y``
        and masks.

        Its edges are stored as they are; ``directed=False`` stores each of them both ways. ``options`` are those of
        ``from_arrays``.
        """
        if hasattr(data, "edge_types"):
            given = {name: data.collect(name, allow_empty=True)
                     for name in ("x", "y", "train_mask", "val_mask", "test_mask")}
            given = {name: value for name, value in given.items() if value}
            given.update(num_nodes={name: data[name].num_nodes for name in data.node_types}, directed=True)
            given.update(options)
            return cls.from_arrays(path, data.edge_index_dict, **given)
        given = {name: getattr(data, name, None) for name in ("x", "y", "train_mask", "val_mask", "test_mask")}
        given = {name: value for name, value in given.items() if value is not None}
        given.update(num_nodes=data.num_nodes, directed=True)
        given.update(options)
        return cls.from_arrays(path, data.edge_index, **given)

    @classmethod
    def from_pandas(cls, path, edges, nodes=None, *, source="source", target="target", node="id", features=None, label=None,
                    **options):
        """Makes a data set at ``path`` of a data frame of edges, and one of vertices.

        ``source`` and ``target`` name columns of ``edges``; ``node`` the column of ``nodes`` that they refer to (numbers or
        texts). ``features`` are columns of numbers (default: all others), ``label`` the column to be learned: numbers stay
        classes, texts become classes in the order of the alphabet. Without ``nodes`` vertices are numbers.
        """
        import numpy

        ends = [numpy.asarray(edges[source]), numpy.asarray(edges[target])]
        if nodes is None:
            return cls.from_arrays(path, numpy.stack(ends), **options)
        names = numpy.asarray(nodes[node])
        order = numpy.argsort(names, kind="stable")
        if len(numpy.unique(names)) != len(names):
            raise Error(f"column '{node}' names a vertex twice", "input", "nodes", "give each vertex one row")
        columns = [name for name in nodes.columns if name not in (node, label)] if features is None else list(features)
        x = numpy.asarray(nodes[columns], dtype=numpy.float32) if columns else None
        y = None if label is None else numpy.asarray(nodes[label])
        if y is not None and y.dtype.kind not in "iuf":
            y = numpy.unique(y.astype(str), return_inverse=True)[1]
        return cls.from_arrays(path, numpy.stack([_places(one, names, order) for one in ends]), x, y,
                               **dict({"num_nodes": len(names)}, **options))

    @classmethod
    def from_dgl(cls, path, part_config, *, features=None, labels=None, **options):
        """Makes a data set at ``path`` of a folder that ``dgl.distributed.partition_graph`` has written, given by its .json
        file; DGL need not be installed.

        ``features`` and ``labels`` name tensors of the vertices (default: feat, features or x; label, labels or y). Edges are
        stored as they are, without self loops. ``options`` are those of ``from_arrays``.
        """
        from .dgl import arrays

        given = arrays(part_config, features=features, labels=labels)
        return cls.from_arrays(path, given.pop("edge_index"), **dict({"directed": True}, **given, **options))

    def partition(self, parts, path=None, *, method=None, seed=0, force=False):
        """Divides it into ``parts``, in the folder ``path`` (default: beside it); the parts as a data set."""
        if self.parts:
            raise Error(f"'{self.path}' is divided into parts already", "usage", self.path, "divide the data set itself")
        if path is None:
            path = f"{self.path.rstrip('/')}-{parts}-parts"
        _rudder.divide(self.path, os.fspath(path), parts, method or "", seed, force)
        return Dataset(path)

    def edge_index(self):
        """All stored arcs, sources above destinations: row after row of the graph, ascending. ``e_id`` counts in it, and
        the vertices are those of ``n_id``. Of a graph of several types a dictionary: each type's for itself."""
        import numpy

        if self.edge_types:
            edges = _rudder.typed_graph_arrays(self.path)["edges"]
            return {name: numpy.asarray(ends).reshape(2, -1) for name, ends in edges.items()}
        arrays = _rudder.graph_arrays(self.path)
        offsets = numpy.asarray(arrays["offsets"])
        destinations = numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets))
        return numpy.stack([numpy.asarray(arrays["neighbours"]), destinations])

    def original_ids(self):
        """Of each vertex of a partition, which vertex of the data set it is; of several types by type, each counted for
        itself."""
        import numpy

        if self.node_types:
            ids = _rudder.typed_graph_arrays(self.path)["original_ids"]
            return {name: numpy.asarray(numbers) for name, numbers in ids.items()}
        return numpy.asarray(_rudder.graph_arrays(self.path)["original_ids"])

    def __repr__(self):
        divided = f", parts={self.parts}" if self.parts else ""
        return (f"Dataset({self.path!r}, num_nodes={self.num_nodes}, num_edges={self.num_edges}, "
                f"num_features={self.num_features}{divided})")
