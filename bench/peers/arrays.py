"""The arrays of a graph that `rudder export` wrote, as every peer takes them; and what each says of an epoch."""
import argparse
import json
import resource

import numpy as np


class Graph:
    """Edges both ways, features in float32, labels, and the vertices of each split as masks."""

    def __init__(self, path):
        archive = np.load(path, allow_pickle=False)
        self.vertices = int(archive["num_nodes"])
        one, two = archive["src"].astype(np.int64), archive["dst"].astype(np.int64)
        loops = one == two
        self.source = np.concatenate([one, two[~loops]])
        self.target = np.concatenate([two, one[~loops]])
        if "x" in archive:
            self.features = archive["x"].astype(np.float32, copy=False)
        else:
            self.features = archive["x_int8"].astype(np.float32) * archive["x_scale"].astype(np.float32)
        self.labels = archive["y"].astype(np.int64)
        self.classes = int(archive["num_classes"])
        self.masks = {}
        for name in ("train", "val", "test"):
            self.masks[name] = np.zeros(self.vertices, dtype=bool)
            self.masks[name][archive[name].astype(np.int64)] = True


def settings(*more):
    parser = argparse.ArgumentParser()
    parser.add_argument("--graph", required=True)
    for name, value in (("hidden", 16), ("batch", 1000), ("epochs", 4), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--fanout", default="10,25", help="input side first")
    parser.add_argument("--lr", type=float, default=0.003)
    for name in more:
        parser.add_argument(f"--{name}", required=True)
    found = parser.parse_args()
    found.fanout = [int(count) for count in found.fanout.split(",")]
    return found


def cpu_seconds():
    return sum(used.ru_utime + used.ru_stime for used in
               (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


def tell(epoch, seconds, cpu, edges, loss):
    """One line per epoch is all that a peer has to say."""
    print(json.dumps({"epoch": epoch, "seconds": seconds, "cpu": cpu, "edges": int(edges), "loss": float(loss)}),
          flush=True)
