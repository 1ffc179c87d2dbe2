"""Weights of trained networks as state dicts, under the names of PyTorch Geometric, and back."""

import json
import os
import re
import struct

from . import _rudder
from ._errors import Error

# By the names within a layer: those of PyG's convolutions.
_names = {
    "self.weight": "lin_r.weight",
    "neigh.weight": "lin_l.weight",
    "neigh.bias": "lin_l.bias",
    "left.weight": "lin_l.weight",
    "left.bias": "lin_l.bias",
    "right.weight": "lin_r.weight",
    "right.bias": "lin_r.bias",
    "weight": "lin.weight",
    "bias": "bias",
    "att": "att",
    "att_src": "att_src",
    "att_dst": "att_dst",
}


def _norm_name(norm, number, name):
    """PyG's BatchNorm keeps that of PyTorch in a module of its own."""
    inside = "module." if norm == "batch" else ""
    return f"norms.{number}.{inside}{name}"


def _pyg_name(name, norm):
    number, inside = re.fullmatch(r"layers\.(\d+)\.(.+)", name).groups()
    if inside.startswith("norm."):
        return _norm_name(norm, number, inside[len("norm."):])
    if inside in _names:
        return f"convs.{number}.{_names[inside]}"
    return None


class _Checkpoint:
    """The weights of one checkpoint, in the order of the network's parameters."""

    def __init__(self, run):
        self.folder = _checkpoint_of(os.fspath(run))
        with open(os.path.join(self.folder, "state.json"), encoding="utf-8") as file:
            state = json.load(file)
        self.norm = state["network"]["norm"]
        self.residual = state["network"]["residual"]
        self.parameters = state["parameters"]
        self.tensors = _read_tensors(os.path.join(self.folder, "weights.safetensors"))

    def names(self):
        """Name of ours and of PyG for each parameter."""
        pairs = [(one["name"], _pyg_name(one["name"], self.norm)) for one in self.parameters
                 if re.match(r"layers\.\d+\.", one["name"])]
        strange = [name for name, theirs in pairs if theirs is None]
        if strange or len(pairs) < len(self.parameters):
            strange += [one["name"] for one in self.parameters if not one["name"].startswith("layers.")]
            raise Error(f"PyG has no name for {strange[0]}", "usage", self.folder,
                        "use rudder.weights.raw, which keeps Rudder's names")
        return pairs


def _checkpoint_of(run):
    if os.path.exists(os.path.join(run, "weights.safetensors")):
        return run
    folder = os.path.join(run, "checkpoints")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    steps = [name for name in names if re.fullmatch(r"step-\d+", name)]
    if not steps:
        raise Error("there is no checkpoint", "input", run, "give the folder of a run that was kept (out=), or of a "
                    "checkpoint")
    best = os.path.join(folder, "best.json")
    if os.path.exists(best):
        with open(best, encoding="utf-8") as file:
            named = str(json.load(file).get("checkpoint", ""))
        if os.path.isdir(os.path.join(folder, os.path.basename(named))) and named:
            return os.path.join(folder, os.path.basename(named))
    return os.path.join(folder, steps[-1])


def _read_tensors(path):
    import numpy

    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    tensors = {}
    for name, one in header.items():
        if name != "__metadata__":
            begin, end = one["data_offsets"]
            tensors[name] = numpy.frombuffer(data[begin:end], numpy.float32).reshape(one["shape"]).copy()
    return tensors


def raw(run):
    """The weights of a run, or of a checkpoint's folder, as NumPy arrays by Rudder's own names."""
    return _Checkpoint(run).tensors


def _shaped(name, array):
    """As PyG's convolutions have it: the vectors of attention begin with an axis of one."""
    return array[None] if name.rsplit(".", 1)[-1].startswith("att") else array


def state_dict(run):
    """The weights of a run (the best checkpoint by validation), or of a checkpoint's folder, by PyG's names.

    What ``load_state_dict`` of PyG's ``GraphSAGE``, ``GCN`` and ``GAT`` takes, made with the run's layers, width, heads and
    norm (and ``act='elu'`` for ``GAT``): tensors where PyTorch is installed, else NumPy arrays. Networks with residual maps, and those that score links, have
    parts that PyG's models lack: they are refused.
    """
    checkpoint = _Checkpoint(run)
    arrays = {theirs: _shaped(theirs, checkpoint.tensors[ours]) for ours, theirs in checkpoint.names()}
    if checkpoint.norm == "batch":
        import numpy

        for name in [name for name in arrays if name.endswith("running_mean")]:
            arrays[name.replace("running_mean", "num_batches_tracked")] = numpy.array(0)
    try:
        import torch
    except ImportError:
        return arrays
    return {name: torch.from_numpy(array) if array.ndim else torch.tensor(int(array)) for name, array in arrays.items()}


def write_state_dict(state, like, out):
    """Writes a run folder with one checkpoint: that of the run ``like``, with the weights of a state dict.

    ``rudder evaluate`` and ``rudder predict`` take it, and ``rudder::infer`` does. Every parameter must be there with
    its shape.
    """
    import numpy

    checkpoint = _Checkpoint(like)
    named = {ours: theirs for ours, theirs in checkpoint.names()}
    flat = []
    for one in checkpoint.parameters:
        theirs = named[one["name"]]
        if theirs not in state:
            raise Error(f"the state dict lacks {theirs}", "usage", checkpoint.folder, "give the state dict of the same network")
        array = state[theirs]
        array = array.detach().cpu().numpy() if hasattr(array, "detach") else numpy.asarray(array)
        shape = tuple(one["shape"])
        if array.shape != _shaped(theirs, numpy.empty(shape)).shape:
            raise Error(f"invalid shape of {theirs}: {list(array.shape)}, not {list(shape)}", "usage", checkpoint.folder,
                        "give the state dict of the same network")
        flat.append((one["offset"], numpy.ascontiguousarray(array, dtype=numpy.float32).reshape(-1)))
    weights = numpy.zeros(max(offset + len(values) for offset, values in flat), numpy.float32)
    for offset, values in flat:
        weights[offset:offset + len(values)] = values
    _rudder.write_weights(checkpoint.folder, os.fspath(out), weights)
