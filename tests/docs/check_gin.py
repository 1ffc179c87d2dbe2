"""The gradient of the worked model against one written out in NumPy, from one step of plain gradient descent.

    check_gin.py RUDDER_GIN

Says SKIPPED where NumPy is not there.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(0)


def weights(run):
    """The tensors of the last checkpoint."""
    file = sorted(run.glob("checkpoints/step-*/weights.safetensors"))[-1]
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, info in header.items():
        if name != "__metadata__":
            begin, end = info["data_offsets"]
            raw = np.frombuffer(data[8 + length + begin:8 + length + end], np.float32)
            tensors[name] = raw.reshape(info["shape"]).astype(np.float64)
    return tensors


def gradients(tensors, adjacency, x, train, labels):
    """Of the mean cross entropy over the vertices of the training set."""
    sums = adjacency @ x
    hidden = np.maximum(sums @ tensors["layers.0.weight"].T + tensors["layers.0.bias"], 0)
    hidden_sums = adjacency @ hidden
    scores = (hidden_sums @ tensors["layers.1.weight"].T + tensors["layers.1.bias"])[train]
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    shares[np.arange(len(train)), labels] -= 1
    back = np.zeros((len(x), scores.shape[1]))
    back[train] = shares / len(train)
    hidden_back = (adjacency.T @ (back @ tensors["layers.1.weight"])) * (hidden > 0)
    return {"layers.0.weight": hidden_back.T @ sums, "layers.0.bias": hidden_back.sum(0),
            "layers.1.weight": back.T @ hidden_sums, "layers.1.bias": back.sum(0)}


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)

        def rudder(*words):
            subprocess.run([program, *words, "--quiet"], cwd=place, check=True)

        rudder("generate", "sbm", "graph", "--vertices", "300", "--classes", "4", "--features", "planted:8")
        rudder("partition", "graph", "parts", "--parts", "1")
        rudder("export", "graph", "graph.npz")
        common = ["train", "parts", "--model", "gin", "--fanout=-1,-1", "--batch", "1000", "--epochs", "1", "--hidden",
                  "16", "--dropout", "0", "--optimizer", "sgd", "--momentum", "0", "--eval-every", "0"]
        rudder(*common, "--lr", "1e-30", "--out", "before")
        rudder(*common, "--lr", "1", "--out", "after")
        before, after = weights(place / "before"), weights(place / "after")
        graph = np.load(place / "graph.npz")
        x = graph["x"].astype(np.float64)
        adjacency = np.zeros((len(x), len(x)))
        adjacency[graph["src"], graph["dst"]] = 1
        adjacency[graph["dst"], graph["src"]] = 1
        adjacency += np.eye(len(x))
        train, labels = graph["train"].astype(np.int64), graph["y"].astype(np.int64)

    for name, expected in gradients(before, adjacency, x, train, labels[train]).items():
        error = np.abs((before[name] - after[name]) - expected).max() / np.abs(expected).max()
        print(f"{name}: off by {error:.1e} of the largest")
        if not error < 1e-4:
            sys.exit("the gradient is wrong")


main()
