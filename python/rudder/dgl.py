"""Data sets of DGL's partition folders, which need not have the same parts afterwards."""

import json
import os

from ._errors import Error
from .dgl_files import read_graph, read_tensors

_feature_names = ("feat", "features", "x")
_label_names = ("label", "labels", "y")
_masks = {"train_mask": ("train_mask",), "val_mask": ("val_mask", "valid_mask"), "test_mask": ("test_mask",)}


class _Part:
    """One part: its own vertices and the edges into them, by the ids of the whole graph."""

    def __init__(self, config, number, folder):
        import numpy

        entry = config.get(f"part-{number}")
        if not isinstance(entry, dict):
            raise Error(f"part {number} is missing", "input", folder, "give the file that DGL has written")
        graph = read_graph(os.path.join(folder, entry["part_graph"]))
        if len(graph.relations) != 1 or len(graph.node_types) != 1:
            raise Error(f"the graph has {len(graph.node_types)} types of vertices and {len(graph.relations)} of edges",
                        "input", os.path.join(folder, entry["part_graph"]), "give a graph without types")
        nodes, edges = graph.node_tensors[0], graph.edge_tensors[0]
        self.ids = numpy.asarray(_tensor(nodes, "_ID", entry["part_graph"]), numpy.int64)
        inner = numpy.asarray(_tensor(nodes, "inner_node", entry["part_graph"])).astype(bool)
        relation = graph.relations[0]
        own = numpy.asarray(edges["inner_edge"]).astype(bool) if "inner_edge" in edges else slice(None)
        self.edges = numpy.stack([self.ids[relation.source[own]], self.ids[relation.destination[own]]])
        self.own = self.ids[inner]
        self.original = numpy.asarray(nodes["orig_id"])[inner] if "orig_id" in nodes else None
        self.features = _untyped(read_tensors(os.path.join(folder, entry["node_feats"])))


def _tensor(tensors, name, where):
    if name not in tensors:
        raise Error(f"the part has no '{name}'", "input", where, "write the partition again with DGL")
    return tensors[name]


def _untyped(tensors):
    """Features by their names alone: ``_N/feat`` is ``feat``."""
    return {name.rsplit("/", 1)[-1]: tensor for name, tensor in tensors.items()}


def _chosen(name, known, wanted, what, where):
    """The name that was given, or the first known one that is there; None: none."""
    if wanted is not None:
        if wanted not in name:
            raise Error(f"no {what} '{wanted}'", "input", where, f"choose one of {', '.join(sorted(name)) or 'none'}")
        return wanted
    return next((one for one in known if one in name), None)


def _gathered(parts, name, vertices, where):
    """A tensor of all vertices, of what each part has for its own."""
    import numpy

    if name is None or any(name not in part.features for part in parts):
        return None
    first = numpy.asarray(parts[0].features[name])
    whole = numpy.zeros((vertices, *first.shape[1:]), first.dtype)
    for part in parts:
        rows = part.features[name]
        if len(rows) != len(part.own):
            raise Error(f"'{name}' has {len(rows)} rows, for {len(part.own)} vertices", "input", where,
                        "write the partition again with DGL")
        whole[part.own] = rows
    return whole


def _config(path):
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        return config, int(config["num_parts"]), int(config["num_nodes"])
    except OSError as error:
        raise Error(error.strerror or str(error), "input", path, "give the .json file of a partition of DGL") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Error(f"no description of a partition: {error}", "input", path,
                    "give the .json file of a partition of DGL") from error


def arrays(path, *, features=None, labels=None):
    """The arrays of a partition of DGL, given by its .json file, as ``Dataset.from_arrays`` takes them.

    ``features`` and ``labels`` name tensors of the vertices; by default those called feat, features or x, and label, labels or
    y. Masks are those called train_mask, val_mask and test_mask. Vertices keep the ids of the graph before it was
    partitioned where DGL has kept them (``orig_id``), else have those of the partition.
    """
    import numpy

    path = os.fspath(path)
    config, count, vertices = _config(path)
    folder = os.path.dirname(os.path.abspath(path))
    parts = [_Part(config, number, folder) for number in range(count)]
    own = numpy.concatenate([part.own for part in parts])
    if len(own) != vertices or not numpy.array_equal(numpy.sort(own), numpy.arange(vertices)):
        raise Error(f"the parts have {len(own)} vertices of their own, of {vertices}", "input", path,
                    "write the partition again with DGL")
    there = set(parts[0].features)
    names = {"x": _chosen(there, _feature_names, features, "features", path),
             "y": _chosen(there, _label_names, labels, "labels", path)}
    names.update((mask, _chosen(there, known, None, mask, path)) for mask, known in _masks.items())
    made = {name: _gathered(parts, tensor, vertices, path) for name, tensor in names.items()}
    made = {name: array for name, array in made.items() if array is not None}
    made.update((mask, made[mask].astype(bool)) for mask in _masks if mask in made)
    edges = numpy.concatenate([part.edges for part in parts], axis=1)
    if all(part.original is not None for part in parts):
        place = numpy.empty(vertices, numpy.int64)
        for part in parts:
            place[part.own] = part.original
        made = {name: array[numpy.argsort(place)] for name, array in made.items()}
        edges = place[edges]
    return dict(made, edge_index=edges, num_nodes=vertices)


def main(words=None):
    """``python3 -m rudder.dgl PART.json OUT``: makes a data set of a partition of DGL."""
    import argparse
    import sys

    from .dataset import Dataset

    parser = argparse.ArgumentParser(prog="python3 -m rudder.dgl", description="Makes a data set of a partition of DGL.")
    parser.add_argument("part", metavar="PART.json", help="what dgl.distributed.partition_graph has written")
    parser.add_argument("out", metavar="OUT", help="folder to create")
    parser.add_argument("--features", help="name of the tensor (default: feat, features or x)")
    parser.add_argument("--labels", help="name of the tensor (default: label, labels or y)")
    parser.add_argument("--force", action="store_true", help="replace an existing output")
    given = parser.parse_args(words)
    try:
        data = Dataset.from_dgl(given.out, given.part, features=given.features, labels=given.labels, force=given.force)
    except Error as error:
        print(f"rudder: error: {error}", file=sys.stderr)
        return {"usage": 2, "input": 3}.get(error.kind, 1)
    print(f"{given.out}: {data.num_nodes} vertices, {data.num_edges} edges, {data.num_features} features")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
