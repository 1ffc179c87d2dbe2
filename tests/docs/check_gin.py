"""The gradient of the worked model against torch's autograd, from one step of plain gradient descent.

    check_gin.py RUDDER_GIN

Says SKIPPED where NumPy or torch is not there.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
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
        x = torch.tensor(graph["x"], dtype=torch.float64)
        adjacency = torch.zeros(len(x), len(x), dtype=torch.float64)
        adjacency[graph["src"], graph["dst"]] = 1
        adjacency[graph["dst"], graph["src"]] = 1
        train, labels = torch.tensor(graph["train"].astype(np.int64)), torch.tensor(graph["y"].astype(np.int64))

    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in before.items()}
    for layer in (0, 1):
        x = (x + adjacency @ x) @ tensors[f"layers.{layer}.weight"].T + tensors[f"layers.{layer}.bias"]
        if layer == 0:
            x = torch.relu(x)
    torch.nn.functional.cross_entropy(x[train], labels[train]).backward()
    for name, tensor in tensors.items():
        expected = tensor.grad.numpy()
        error = np.abs((before[name] - after[name]) - expected).max() / np.abs(expected).max()
        print(f"{name}: off by {error:.1e} of the largest")
        if not error < 1e-4:
            sys.exit("the gradient is wrong")


main()
