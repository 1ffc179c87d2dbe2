"""Batches as models take them: of PyTorch Geometric, of tensors, or of arrays."""


class Batch:
    """One mini-batch: the attributes of ``torch_geometric.data.Data`` that a loader gives.

    ``x``
        Features of its vertices, a row each (float32).
    ``y``
        Targets of its seeds: classes (int64), labels or numbers (float32, a row each).
    ``edge_index``
        Edges as positions among its vertices, from the first row to the second, hop after hop.
    ``n_id``
        Ids of its vertices in the partition: the seeds first, then what each hop added.
    ``batch_size``
        Number of seeds.
    ``input_id``
        Where its seeds stand among all vertices of ``input_nodes``, by ascending id.
    ``num_sampled_nodes``, ``num_sampled_edges``
        Vertices that each hop added, the seeds first; edges of each hop.
    ``e_id``
        Where it is asked for: the number of each edge in ``Dataset.edge_index()`` of the partition.

    Of links, instead of ``y``:

    ``edge_label_index``, ``edge_label``
        Pairs of vertices, as positions among those of the batch, and whether they are joined (1 and 0, float32): the links
        first, then what was drawn beside them. ``batch_size`` is the number of links, and ``input_id`` says which they are
        among all of their role.
    """

    _always = ("x", "edge_index", "n_id", "input_id", "batch_size", "num_sampled_nodes", "num_sampled_edges")
    _sometimes = ("y", "e_id", "edge_label_index", "edge_label")
    __slots__ = _always + _sometimes

    def __init__(self, **values):
        for name in self._always:
            setattr(self, name, values[name])
        for name in self._sometimes:
            setattr(self, name, values.get(name))

    @property
    def num_nodes(self):
        """Number of its vertices."""
        return len(self.n_id)

    def __repr__(self):
        asked = (f"edge_label_index={list(self.edge_label_index.shape)}" if self.y is None
                 else f"y={list(self.y.shape)}")
        return (f"Batch(batch_size={self.batch_size}, x={list(self.x.shape)}, "
                f"edge_index={list(self.edge_index.shape)}, {asked})")


def layer(batch, number):
    """What layer ``number`` of a network reads, the first being 0: ``(edge_index, sources, destinations)``.

    The edges go from the first ``sources`` vertices of the batch to the first ``destinations`` of them, which are the
    sources of the next layer, or the seeds. Each layer has draws of its own, as in ``rudder train``.
    """
    hops = len(batch.num_sampled_edges)
    if not 0 <= number < hops:
        raise IndexError(f"layer {number} of a batch with {hops} hops")
    hop = hops - 1 - number
    first = sum(batch.num_sampled_edges[:hop])
    edges = batch.edge_index[:, first:first + batch.num_sampled_edges[hop]]
    destinations = sum(batch.num_sampled_nodes[:hop + 1])
    return edges, destinations + batch.num_sampled_nodes[hop + 1], destinations


def _numpy_batches():
    import numpy

    def make(arrays):
        return Batch(**{name: numpy.asarray(value) if hasattr(value, "__dlpack__") else value
                        for name, value in arrays.items()})

    return make


def _tensors(arrays):
    from torch.utils.dlpack import from_dlpack

    return {name: from_dlpack(value) if hasattr(value, "__dlpack__") else value
            for name, value in arrays.items()}


def _torch_batches():
    import torch  # noqa: F401

    return lambda arrays: Batch(**_tensors(arrays))


def _pyg_batches():
    from torch_geometric.data import Data

    return lambda arrays: Data(**_tensors(arrays))


_makers = {"pyg": _pyg_batches, "torch": _torch_batches, "numpy": _numpy_batches}


def maker(output):
    """A function that makes a batch of a dictionary of arrays, without copies."""
    from importlib.util import find_spec

    from ._errors import Error

    if output == "auto":
        output = "numpy"
        if find_spec("torch") is not None:
            output = "pyg" if find_spec("torch_geometric") is not None else "torch"
    if output not in _makers:
        raise Error(f"invalid output: '{output}'", "usage", "NeighborLoader", "give auto, pyg, torch or numpy")
    try:
        return _makers[output]()
    except ImportError as error:
        raise Error(f"output '{output}' lacks {error.name}", "usage", "NeighborLoader",
                    f"install it, or give output='numpy'") from error
