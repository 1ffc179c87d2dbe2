"""Stores for programs that keep PyTorch Geometric's own sampler: ``rudder.pyg.FeatureStore``, ``rudder.pyg.GraphStore``."""

import copy
import json
import os

import numpy
import torch
import torch_geometric.data
from torch_geometric.data import EdgeAttr, TensorAttr
from torch_geometric.data.graph_store import EdgeLayout

from . import _rudder
from ._errors import Error
from .dataset import Dataset


def _forbid_pickling(self):
    raise Error("a store cannot be pickled", "usage", "FeatureStore",
                "make it in the process that uses it: with num_workers=0")


class FeatureStore(torch_geometric.data.FeatureStore):
    """Features (``x``) of the vertices of parts, wherever they lie; other tensors as they are put in.

    The sampler is yours, so nothing is known ahead: a policy such as ``lru`` keeps rows that were used, and each batch waits
    for what it lacks. Unless ``announce(ids)`` tells of the vertices of coming batches, in order: then their rows are on
    their way before they are asked for.

    Parameters
    ----------
    path
        Parts, or a data set, which is divided into a part per process.
    node_type
        The type of vertices that PyG calls them by; None: the graph has no types.
    policy, buffer, precision, options
        As of ``NeighborLoader``; the policy is ``lru`` unless it is given. Nobody steers, and each process has a buffer
        of its own.
    """

    def __init__(self, path, node_type=None, *, policy="lru", buffer=None, precision=None, options=None):
        super().__init__()
        settings = dict(options or {}, policy=policy)
        given = {"buffer": buffer, "precision": precision}
        settings.update({name: value for name, value in given.items() if value is not None})
        self.__dict__["_reader"] = _rudder.RowReader(os.fspath(path), json.dumps(settings))
        facts = self._reader.facts()
        self.__dict__["_given"] = {}
        self.__dict__["node_type"] = node_type
        self.__dict__["path"] = facts["path"]
        self.__dict__["num_nodes"] = facts["num_nodes"]
        self.__dict__["num_features"] = facts["num_features"]

    def announce(self, ids):
        """Rows of these vertices (each once) will be asked for, after those that were announced before.

        They are fetched from now on, and steps further ahead as far as the policy looks: ``window:W`` does. What is
        asked for must be what was announced, in the same order of ids; what is passed over is dropped.
        """
        self._reader.announce(_ids(ids))

    def stats(self):
        """Steps, rows and bytes so far, the policy and its capacity."""
        return json.loads(self._reader.stats())

    def close(self):
        """Ends it with all processes."""
        self._reader.close()

    def _is_x(self, attr):
        return attr.group_name == self.node_type and attr.attr_name == "x"

    def _put_tensor(self, tensor, attr):
        if self._is_x(attr) or attr.index is not None:
            return False
        self._given[attr.group_name, attr.attr_name] = tensor
        return True

    def _get_tensor(self, attr):
        if not self._is_x(attr):
            tensor = self._given.get((attr.group_name, attr.attr_name))
            return tensor if tensor is None or attr.index is None else tensor[attr.index]
        index = attr.index
        if index is None:
            index = slice(None)
        if isinstance(index, slice):
            index = range(*index.indices(self.num_nodes))
        elif isinstance(index, int):
            index = [index]
        return self._rows(_ids(index))

    def _rows(self, ids):
        """A vertex may be there several times; it is fetched once."""
        distinct, places = numpy.unique(ids, return_inverse=True)
        if len(distinct) == len(ids):
            return torch.from_dlpack(self._reader.rows(ids))
        return torch.from_dlpack(self._reader.rows(distinct))[torch.from_numpy(places)]

    def _remove_tensor(self, attr):
        return self._given.pop((attr.group_name, attr.attr_name), None) is not None

    def _get_tensor_size(self, attr):
        if self._is_x(attr):
            return (self.num_nodes, self.num_features)
        tensor = self._given.get((attr.group_name, attr.attr_name))
        return None if tensor is None else tuple(tensor.shape)

    def get_all_tensor_attrs(self):
        """``x``, and what was put in."""
        return [TensorAttr(self.node_type, "x")] + [TensorAttr(*names) for names in self._given]

    def __len__(self):
        return 1 + len(self._given)

    __reduce__ = _forbid_pickling

    def __repr__(self):
        return f"FeatureStore({self.path!r}, num_nodes={self.num_nodes}, num_features={self.num_features})"


def _ids(ids):
    if isinstance(ids, torch.Tensor):
        ids = ids.detach().cpu().numpy()
    return numpy.ascontiguousarray(ids, dtype=numpy.int64)


class GraphStore(torch_geometric.data.GraphStore):
    """The edges of parts or a data set, all of them in this process's memory, for PyG's own sampler.

    Parameters
    ----------
    path
        Parts or a data set: the same as of the ``FeatureStore``, so that ids mean the same vertices. Its ``path``.
    edge_type
        The type of edges that PyG calls them by; None: the graph has no types.
    """

    def __init__(self, path, edge_type=None):
        super().__init__()
        data = Dataset(path)
        if data.node_types:
            raise Error("stores do not know types, and the graph has several", "input", data.path,
                        "give a graph of one type, or take a loader")
        arrays = _rudder.graph_arrays(data.path)
        self.__dict__["path"] = data.path
        self.__dict__["edge_type"] = edge_type
        self.__dict__["_attr"] = EdgeAttr(edge_type, EdgeLayout.CSC, is_sorted=True, size=(data.num_nodes, data.num_nodes))
        self.__dict__["_edges"] = {self._key(self._attr): (torch.from_dlpack(arrays["neighbours"]),
                                                           torch.from_dlpack(arrays["offsets"]))}
        self.__dict__["_attrs"] = {self._key(self._attr): self._attr}

    @staticmethod
    def _key(attr):
        return attr.edge_type, attr.layout

    def _put_edge_index(self, edge_index, edge_attr):
        if edge_attr.edge_type == self.edge_type:
            return False
        self._edges[self._key(edge_attr)] = edge_index
        self._attrs[self._key(edge_attr)] = copy.copy(edge_attr)
        return True

    def _get_edge_index(self, edge_attr):
        return self._edges.get(self._key(edge_attr))

    def _remove_edge_index(self, edge_attr):
        if edge_attr.edge_type == self.edge_type:
            return False
        self._attrs.pop(self._key(edge_attr), None)
        return self._edges.pop(self._key(edge_attr), None) is not None

    def get_all_edge_attrs(self):
        """Those of the graph, and what was put in."""
        return [copy.copy(attr) for attr in self._attrs.values()]

    def __repr__(self):
        return f"GraphStore({self.path!r}, edge_type={self.edge_type!r})"
