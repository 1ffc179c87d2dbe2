"""Holds what dump_networks wrote against PyTorch's autograd, in double precision.

    compare.py FOLDER
"""
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F


def read(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    words = header.pop("__metadata__")
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        raw = np.frombuffer(data[8 + length + begin:8 + length + end], np.float32)
        tensors[name] = torch.tensor(raw.reshape(info["shape"]).astype(np.float64))
    return words, tensors


class Network:
    def __init__(self, words, tensors):
        self.words, self.t = words, tensors
        self.heads = int(words["heads"])
        self.p = {name[7:]: value.clone().requires_grad_() for name, value in tensors.items() if name.startswith("weight.")}

    def pairs(self, l, own):
        """Who reads whom in a block."""
        offsets, neighbours = self.t[f"offsets.{l}"].long(), self.t[f"neighbours.{l}"].long()
        count = offsets[1:] - offsets[:-1]
        to = torch.repeat_interleave(torch.arange(len(count)), count)
        if own:
            self_ids = torch.arange(len(count))
            neighbours, to = torch.cat([self_ids, neighbours]), torch.cat([self_ids, to])
        return neighbours, to, count

    def convolve(self, l, h, last):
        model, p = self.words["model"], lambda name: self.p[f"layers.{l}.{name}"]
        source, to, count = self.pairs(l, model.startswith("gat"))
        rows = len(count)
        sums = lambda values: torch.zeros(rows, *values.shape[1:], dtype=h.dtype).index_add(0, to, values)
        if model == "sage":
            mean = sums(h[source]) / count.clamp(min=1)[:, None]
            return h[:rows] @ p("self.weight").T + mean @ p("neigh.weight").T + p("neigh.bias")
        if model == "gcn":
            degree = self.t["degrees"][:len(h)]
            norm = (degree + 1).rsqrt()
            of_edge = norm[source] * norm[to] * (degree[:rows] / count.clamp(min=1))[to]
            z = h @ p("weight").T
            return z[:rows] * norm[:rows, None] ** 2 + sums(z[source] * of_edge[:, None]) + p("bias")
        split = lambda x: x.view(len(x), self.heads, -1)
        if model == "gat":
            z = split(h @ p("weight").T)
            scores = F.leaky_relu((z * p("att_src")).sum(2)[source] + (z * p("att_dst")).sum(2)[to], 0.2)
        else:
            z = split(h @ p("left.weight").T + p("left.bias"))
            right = split(h[:rows] @ p("right.weight").T + p("right.bias"))
            scores = (F.leaky_relu(z[source] + right[to], 0.2) * p("att")).sum(2)
        raised = scores.exp()
        out = sums(z[source] * (raised / sums(raised)[to])[:, :, None])
        return (out.mean(1) if last else out.flatten(1)) + p("bias")

    def between(self, l, before, out, training):
        norm, name = self.words["norm"], f"layers.{l}.norm."
        if norm == "layer":
            out = F.layer_norm(out, out.shape[1:], self.p[name + "weight"], self.p[name + "bias"])
        if norm == "batch":
            running = [None if training else self.p[name + what].detach() for what in ("running_mean", "running_var")]
            out = F.batch_norm(out, *running, self.p[name + "weight"], self.p[name + "bias"], training)
        if self.words["residual"] == "yes":
            own, by = before[:len(out)], self.p.get(f"layers.{l}.residual.weight")
            out = out + (own if by is None else own @ by.T)
        return F.elu(out) if self.words["model"].startswith("gat") else F.relu(out)

    def scores(self, training):
        layers = sum(name.startswith("offsets.") for name in self.t)
        h = self.t["rows"]
        for l in range(layers):
            if training:
                h = h * self.t[f"mask.{l}"]
            out = self.convolve(l, h, l + 1 == layers)
            h = out if l + 1 == layers else self.between(l, h, out, training)
        return h


def off(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-3)).item()


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors"))
    worst = 0
    for file in files:
        words, tensors = read(file)
        network = Network(words, tensors)
        labels = tensors["classes"].long()
        loss = F.cross_entropy(network.scores(True), labels, ignore_index=-1, reduction="sum") / len(labels)
        loss.backward()
        errors = {"scores": off(tensors["scores"], network.scores(False).detach()),
                  "loss": off(tensors["loss"], loss.detach()[None])}
        largest = max(network.p[name[9:]].grad.abs().max() for name in tensors if name.startswith("gradient."))
        for name, ours in tensors.items():
            if name.startswith("gradient."):
                errors[name] = ((ours - network.p[name[9:]].grad).abs().max() / largest).item()
        worst = max(worst, *errors.values())
        for name, error in errors.items():
            if not error < 1e-5:
                sys.exit(f"{file.stem}: {name} is off by {error:.1e}")
    if len(files) != 24:
        sys.exit(f"{len(files)} files, not 24")
    print(f"{len(files)} networks agree with torch {torch.__version__}; largest difference {worst:.1e}")


main()
