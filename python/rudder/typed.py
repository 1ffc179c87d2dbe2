"""Arrays of a graph of several types, as an archive has them."""

from ._errors import Error


def _fault(what, remedy):
    return Error(what, "input", "Dataset.from_arrays", remedy)


def _by_type(value, name):
    """Arrays by type of vertices or edges."""
    import numpy

    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _fault(f"invalid {name}: not a dictionary, as edge_index is", f"give {name} by type")
    return {of: numpy.asarray(own) for of, own in value.items() if own is not None}


def _count(own, num_nodes, edge_index):
    """Vertices of each type that any argument names: by its number, its arrays, or the largest end of an edge."""
    counts = {of: int(number) for of, number in num_nodes.items()}
    for arrays in own.values():
        for of, array in arrays.items():
            counts.setdefault(of, len(array))
    for (source, _, destination), ends in edge_index.items():
        for of, row in ((source, 0), (destination, 1)):
            if of not in num_nodes and not any(of in arrays for arrays in own.values()):
                counts[of] = max(counts.get(of, 0), int(ends[row].max()) + 1 if ends.size else 0)
    return counts


def _spread(arrays, counts, none):
    """One array for the vertices of all types; those that have none get ``none``."""
    import numpy

    known = next(iter(arrays.values()))
    kind = numpy.result_type(known.dtype, numpy.min_scalar_type(none)) if known.dtype.kind != "f" else known.dtype
    pieces = [arrays[of].astype(kind) if of in arrays else numpy.full((count, *known.shape[1:]), none, dtype=kind)
              for of, count in counts.items()]
    return numpy.concatenate(pieces)


def typed_arrays(edge_index, *, x, y, train_mask, val_mask, test_mask, edge_weight, num_nodes):
    """The arrays of an archive, of those that ``Dataset.from_arrays`` takes by type."""
    import numpy

    edge_index = _by_type(edge_index, "edge_index")
    weights = _by_type(edge_weight, "edge_weight")
    own = {name: _by_type(value, name) for name, value in
           (("x", x), ("y", y), ("train_mask", train_mask), ("val_mask", val_mask), ("test_mask", test_mask))}
    if not edge_index:
        raise _fault("there are no edges", "give edge_index by (source type, name, destination type)")
    for kind, ends in edge_index.items():
        if not isinstance(kind, tuple) or len(kind) != 3 or not all(isinstance(word, str) for word in kind):
            raise _fault(f"invalid type of edges: {kind!r}", "give (source type, name, destination type)")
        if ends.ndim != 2 or len(ends) != 2 or (ends.size and ends.dtype.kind not in "iu"):
            raise _fault(f"edges of type {kind!r} are not two rows of whole numbers", "give sources above destinations")
    counts = _count(own, num_nodes or {}, edge_index)
    for name, arrays in own.items():
        for of, array in arrays.items():
            if len(array) != counts[of]:
                raise _fault(f"{name} of type '{of}' has {len(array)} rows for {counts[of]} vertices", "give each vertex one")
    first, firsts = 0, {}
    for of, count in counts.items():
        firsts[of] = first
        first += count
    for (source, name, destination), ends in edge_index.items():
        for of, row in ((source, ends[0]), (destination, ends[1])):
            if row.size and (row.min() < 0 or row.max() >= counts[of]):
                raise _fault(f"an edge of type '{name}' names vertex {row.max() if row.min() >= 0 else row.min()} of type "
                             f"'{of}', which has {counts[of]}", "give numbers of vertices of the type")
    if weights and set(weights) != set(edge_index):
        raise _fault("edge_weight is not of all types of edges", "give it for each, or none")
    made = {
        "edge_index": numpy.concatenate([ends.astype(numpy.int64) + [[firsts[source]], [firsts[destination]]]
                                         for (source, _, destination), ends in edge_index.items()], axis=1),
        "edge_type": numpy.repeat(numpy.arange(len(edge_index), dtype=numpy.int64),
                                  [ends.shape[1] for ends in edge_index.values()]),
        "edge_types": numpy.array([" ".join(kind) for kind in edge_index]),
        "node_type": numpy.repeat(numpy.arange(len(counts), dtype=numpy.int64), list(counts.values())),
        "node_types": numpy.array(list(counts)),
    }
    for of, rows in own["x"].items():
        made["x_" + of] = rows
    if own["y"]:
        if len(own["y"]) > 1:
            raise _fault(f"y is given for {len(own['y'])} types", "give it for the one that is to be predicted")
        floating = next(iter(own["y"].values())).dtype.kind == "f"
        made["y"] = _spread(own["y"], counts, float("nan") if floating else -1)
    for name in ("train_mask", "val_mask", "test_mask"):
        if own[name]:
            made[name] = _spread({of: mask.astype(bool) for of, mask in own[name].items()}, counts, False)
    if weights:
        made["edge_weight"] = numpy.concatenate([weights[kind] for kind in edge_index])
    return made
