"""Recomputes predictions of a GraphSAGE network with NumPy alone.

check_predictions.py GRAPH.npz WEIGHTS.safetensors PREDICTIONS.npz KIND

GRAPH is what `rudder export` writes of the partitioned data set, so it is in original ids. KIND is
classes, multilabel or regression.
"""
import json
import struct
import sys

import numpy as np


def tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    result = {}
    for name, tensor in header.items():
        assert tensor["dtype"] == "F32"
        begin, end = tensor["data_offsets"]
        result[name] = np.frombuffer(data[begin:end], "<f4").reshape(tensor["shape"])
    return result


def main(graph_path, weights_path, predictions_path, kind):
    graph, weights = np.load(graph_path), tensors(weights_path)
    n = int(graph["num_nodes"])
    # The data set is symmetric and stores each edge once; loops stay single.
    src, dst = graph["src"].astype(np.int64), graph["dst"].astype(np.int64)
    both = src != dst
    source = np.concatenate([src, dst[both]])
    reader = np.concatenate([dst, src[both]])
    degree = np.bincount(reader, minlength=n)
    h = graph["x"].astype(np.float64)
    layers = sum(name.endswith(".bias") for name in weights)
    for l in range(layers):
        hidden = h
        total = np.zeros_like(h)
        np.add.at(total, reader, h[source])
        mean = total / np.maximum(degree, 1)[:, None]
        h = (h @ weights[f"layers.{l}.self.weight"].T.astype(np.float64)
             + mean @ weights[f"layers.{l}.neigh.weight"].T.astype(np.float64)
             + weights[f"layers.{l}.neigh.bias"])
        if l + 1 < layers:
            h = np.maximum(h, 0)
    found = np.load(predictions_path)
    np.testing.assert_allclose(found["scores"], h, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["embedding"], hidden, rtol=1e-5, atol=1e-5)
    assert found["scores"].dtype == np.float32 and found["embedding"].dtype == np.float32
    names = {"scores", "embedding"}
    if kind == "classes":
        names.add("class")
        assert found["class"].dtype == np.int32
        assert (found["class"] == found["scores"].argmax(1)).all()
    if kind == "multilabel":
        names.add("labels")
        assert found["labels"].dtype == np.uint8
        assert (found["labels"] == (found["scores"] > 0)).all()
    assert set(found.files) == names, found.files
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
