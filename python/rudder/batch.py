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


class _Store:
    """What a batch holds of one type."""

    def __init__(self, values):
        self.__dict__.update(values)

    def __contains__(self, name):
        return name in self.__dict__

    def __getitem__(self, name):
        return self.__dict__[name]

    def keys(self):
        """Names of what it holds."""
        return self.__dict__.keys()

    def __repr__(self):
        return "{" + ", ".join(f"{name}={list(value.shape) if hasattr(value, 'shape') else value}"
                               for name, value in self.__dict__.items()) + "}"


class HeteroBatch:
    """One mini-batch of a graph of several types: what of ``torch_geometric.data.HeteroData`` a loader gives.

    ``batch['paper']`` is what it holds of a type of vertices, ``batch['author', 'writes', 'paper']`` of one of edges, and
    ``batch.x_dict``, ``batch.edge_index_dict`` and so on are the same attribute of all types that have it.

    Of each type of vertices:

    ``x``
        Features of its vertices, as wide as the type's (float32); types without features have none.
    ``n_id``
        Their numbers among all vertices of the type in the partition, which count from 0.
    ``num_sampled_nodes``
        Vertices that each hop added, the seeds first.

    Of the type of the seeds also ``y``, ``batch_size`` and ``input_id``, as of ``Batch``; its first vertices are the seeds.

    Of each type of edges:

    ``edge_index``
        Edges as positions among the vertices of the source's type and of the destination's, hop after hop.
    ``num_sampled_edges``
        Edges of each hop.
    ``e_id``
        Where it is asked for: the number of each edge in ``Dataset.edge_index()`` of its type.

    Of links, the type of edges that they are of has ``edge_label_index``, ``edge_label``, ``batch_size`` and ``input_id``, as
    of ``Batch``, and no vertices have ``y``.
    """

    def __init__(self, nodes, edges):
        self._nodes = {name: _Store(values) for name, values in nodes.items()}
        self._edges = {name: _Store(values) for name, values in edges.items()}

    @property
    def node_types(self):
        """Names of the types of vertices."""
        return list(self._nodes)

    @property
    def edge_types(self):
        """The types of edges: source, name, destination."""
        return list(self._edges)

    def __getitem__(self, name):
        return self._edges[name] if isinstance(name, tuple) else self._nodes[name]

    def __getattr__(self, name):
        if name.startswith("_") or not name.endswith("_dict"):
            raise AttributeError(f"HeteroBatch has no attribute '{name}'")
        name = name[:-len("_dict")]
        found = {of: store[name] for of, store in [*self._nodes.items(), *self._edges.items()] if name in store}
        if not found:
            raise AttributeError(f"no type of the batch has '{name}'")
        return found

    @property
    def num_nodes(self):
        """Number of its vertices."""
        return sum(len(store.n_id) for store in self._nodes.values())

    def __repr__(self):
        stores = [*self._nodes.items(), *self._edges.items()]
        return "HeteroBatch(" + ", ".join(f"{name}={store}" for name, store in stores) + ")"


def _layer_of_types(batch, number):
    sampled_nodes, sampled_edges = batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict
    hops = len(next(iter(sampled_nodes.values()))) - 1
    if not 0 <= number < hops:
        raise IndexError(f"layer {number} of a batch with {hops} hops")
    hop = hops - 1 - number
    edges = {}
    for name, index in batch.edge_index_dict.items():
        first = sum(sampled_edges[name][:hop])
        edges[name] = index[:, first:first + sampled_edges[name][hop]]
    sources = {name: sum(counts[:hop + 2]) for name, counts in sampled_nodes.items()}
    destinations = {name: sum(counts[:hop + 1]) for name, counts in sampled_nodes.items()}
    return edges, sources, destinations


def layer(batch, number):
    """What layer ``number`` of a network reads, the first being 0: ``(edge_index, sources, destinations)``.

    The edges go from the first ``sources`` vertices of the batch to the first ``destinations`` of them, which are the
    sources of the next layer, or the seeds. Each layer has draws of its own, as in ``rudder train``. Of a graph of several
    types all three are dictionaries by type.
    """
    if hasattr(batch, "edge_types"):
        return _layer_of_types(batch, number)
    hops = len(batch.num_sampled_edges)
    if not 0 <= number < hops:
        raise IndexError(f"layer {number} of a batch with {hops} hops")
    hop = hops - 1 - number
    first = sum(batch.num_sampled_edges[:hop])
    edges = batch.edge_index[:, first:first + batch.num_sampled_edges[hop]]
    destinations = sum(batch.num_sampled_nodes[:hop + 1])
    return edges, destinations + batch.num_sampled_nodes[hop + 1], destinations


def _numpy_arrays():
    import numpy

    return numpy.asarray


def _torch_arrays():
    from torch.utils.dlpack import from_dlpack

    return from_dlpack


def _own_batches(convert):
    """Batches of this package: of one type, and of several."""
    return lambda values: Batch(**convert(values)), HeteroBatch


def _pyg_batches(convert):
    from torch_geometric.data import Data, HeteroData

    def of_types(nodes, edges):
        made = HeteroData()
        for name, values in [*nodes.items(), *edges.items()]:
            made[name].update(values)
        return made

    return lambda values: Data(**convert(values)), of_types


_makers = {"pyg": (_torch_arrays, _pyg_batches), "torch": (_torch_arrays, _own_batches),
           "numpy": (_numpy_arrays, _own_batches)}


def _make(output):
    array, batches = _makers[output]
    array = array()

    def convert(values):
        return {name: array(value) if hasattr(value, "__dlpack__") else value for name, value in values.items()}

    def by_type(stores):
        return {name: convert(values) for name, values in stores.items()}

    of_one_type, of_types = batches(convert)
    return lambda values: (of_types(by_type(values["nodes"]), by_type(values["edges"])) if "nodes" in values
                           else of_one_type(values))


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
        return _make(output)
    except ImportError as error:
        raise Error(f"output '{output}' lacks {error.name}", "usage", "NeighborLoader",
                    f"install it, or give output='numpy'") from error
