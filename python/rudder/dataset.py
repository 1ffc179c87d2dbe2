"""Data sets in folders: made of arrays, opened, divided into parts."""

import json
import os
import tempfile

from . import _rudder
from ._errors import Error


class Dataset:
    """A data set, or its parts, in a folder.

    ``num_nodes``, ``num_edges`` (stored arcs), ``num_features``, ``num_classes``, ``targets`` (the kind), ``split``
    (vertices per role) and ``parts`` (0: not divided) say what it holds.
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
        """
        import numpy

        arrays = {"edge_index": edge_index, "x": x, "y": y, "train_mask": train_mask, "val_mask": val_mask,
                  "test_mask": test_mask, "edge_weight": edge_weight, "num_nodes": num_nodes}
        arrays = {name: numpy.asarray(value) for name, value in arrays.items() if value is not None}
        path = os.fspath(path)
        folder = os.path.dirname(os.path.abspath(path))
        with tempfile.TemporaryDirectory(prefix=".rudder-", dir=folder) as beside:
            archive = os.path.join(beside, "arrays.npz")
            numpy.savez(archive, **arrays)
            _rudder.import_arrays(archive, path, directed, split or "", seed, force)
        return cls(path)

    def partition(self, parts, path=None, *, method=None, seed=0, force=False):
        """Divides it into ``parts``, in the folder ``path`` (default: beside it); the parts as a data set."""
        if self.parts:
            raise Error(f"'{self.path}' is divided into parts already", "usage", self.path, "divide the data set itself")
        if path is None:
            path = f"{self.path.rstrip('/')}-{parts}-parts"
        _rudder.divide(self.path, os.fspath(path), parts, method or "", seed, force)
        return Dataset(path)

    def __repr__(self):
        divided = f", parts={self.parts}" if self.parts else ""
        return (f"Dataset({self.path!r}, num_nodes={self.num_nodes}, num_edges={self.num_edges}, "
                f"num_features={self.num_features}{divided})")
