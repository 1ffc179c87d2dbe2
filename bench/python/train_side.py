"""One side of bench_python.py: GraphSAGE of PyG under DistributedDataParallel on one loader, a line of JSON per epoch.

torchrun --nproc-per-node N train_side.py rudder|pyg PATH --graph GRAPH.npz
"""

import argparse
import json
import os
import resource
import time

import numpy
import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import SAGEConv

import rudder


class Sage(torch.nn.Module):
    """Each layer only for the vertices that the next one reads."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.first, self.second = SAGEConv(inputs, hidden), SAGEConv(hidden, outputs)

    def forward(self, x, edges, seeds):
        last = edges[:, edges[1] < seeds]
        middle = max(int(last[0].max()) + 1, seeds) if last.numel() else seeds
        h = F.dropout(F.relu(self.first((x, x[:middle]), edges)), 0.5, self.training)
        return self.second((h, h[:seeds]), last)


class Link:
    """Waits as RUDDER_LINK has rows wait: a delay per message, and a rate at which what a process sends leaves it."""

    delays = {"s": 1, "ms": 1e-3, "us": 1e-6}
    rates = {"gbit": 1e9 / 8, "mbit": 1e6 / 8}

    def __init__(self, text):
        self.delay, self.rate = 0, 0
        if text:
            delay, rate = text.split(",")
            self.delay, self.rate = self.number(delay, self.delays), self.number(rate, self.rates)

    @staticmethod
    def number(text, units):
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        return float(digits) * units[text[len(digits):]]

    def sent(self, tensor, counts, rank):
        """After an exchange in which `tensor` was sent, `counts` of its rows to each process."""
        if not self.rate:
            return
        others = sum(counts) - counts[rank]
        bytes_out = others * tensor.element_size() * (tensor[0].numel() if len(tensor) else 0)
        time.sleep(self.delay + bytes_out / self.rate)


class Fetch:
    """Rows of the vertices that other processes hold, as one would write it: ask each owner, wait for all."""

    def __init__(self, rows, vertices, rank, size, link):
        self.rank, self.size, self.link = rank, size, link
        self.bounds = [vertices * r // size for r in range(size + 1)]
        self.own = rows[self.bounds[rank]:self.bounds[rank + 1]].clone()

    def __call__(self, ids):
        owners = torch.bucketize(ids, torch.tensor(self.bounds[1:-1]), right=True) if self.size > 1 else ids * 0
        order = owners.argsort(stable=True)
        asked = torch.bincount(owners, minlength=self.size)
        answered = torch.empty_like(asked)
        torch.distributed.all_to_all_single(answered, asked)
        theirs = torch.empty(int(answered.sum()), dtype=ids.dtype)
        torch.distributed.all_to_all_single(theirs, ids[order].contiguous(), answered.tolist(), asked.tolist())
        self.link.sent(ids, asked.tolist(), self.rank)
        sent = self.own[theirs - self.bounds[self.rank]]
        came = torch.empty(len(ids), self.own.shape[1])
        torch.distributed.all_to_all_single(came, sent, asked.tolist(), answered.tolist())
        self.link.sent(sent, answered.tolist(), self.rank)
        rows = torch.empty_like(came)
        rows[order] = came
        return rows


class PygBatches:
    """PyG's loader on ids, each process with all edges and its share of the seeds and rows."""

    def __init__(self, graph, hops, batch, rank, size, workers, link):
        from torch_geometric.data import Data
        from torch_geometric.loader import NeighborLoader

        arrays = numpy.load(graph)
        x = torch.from_numpy(arrays["x"].astype(numpy.float32))
        self.y = torch.from_numpy(arrays["y"].astype(numpy.int64))
        self.columns, self.classes = x.shape[1], int(self.y.max()) + 1
        self.fetch = Fetch(x, len(x), rank, size, link)
        edges = torch.from_numpy(arrays["edge_index"].astype(numpy.int64))
        both = torch.unique(torch.cat([edges, edges.flip(0)], 1), dim=1)
        seeds = torch.from_numpy(numpy.flatnonzero(arrays["train_mask"]))[rank::size]
        steps = torch.tensor(-(-len(seeds) // batch))
        torch.distributed.all_reduce(steps, torch.distributed.ReduceOp.MIN)
        self.steps = int(steps)
        self.loader = NeighborLoader(Data(edge_index=both, num_nodes=len(x)), num_neighbors=hops, input_nodes=seeds,
                                     batch_size=batch, shuffle=True, num_workers=workers)

    def __iter__(self):
        for batch, _ in zip(self.loader, range(self.steps)):
            yield self.fetch(batch.n_id), batch.edge_index, self.y[batch.n_id[:batch.batch_size]]


class RudderBatches:
    """Ours."""

    def __init__(self, path, hops, batch, epochs):
        self.loader = rudder.NeighborLoader(path, hops, batch, epochs=epochs, seed=1, sampler="plain")
        self.columns, self.classes = self.loader.num_features, self.loader.num_classes

    def __iter__(self):
        for batch in self.loader:
            yield batch.x, batch.edge_index, batch.y


def cpu():
    """Of this process and those it has waited for."""
    return sum(getattr(resource.getrusage(who), name) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
               for name in ("ru_utime", "ru_stime"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=("rudder", "pyg"))
    parser.add_argument("path")
    parser.add_argument("--graph")
    parser.add_argument("--fanout", default="10,25", help="the hop at the seeds first")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    torch.distributed.init_process_group("gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // size))
    torch.manual_seed(1)
    hops = [int(count) for count in options.fanout.split(",")]
    if options.side == "rudder":
        batches = RudderBatches(options.path, hops, options.batch, options.epochs)
    else:
        batches = PygBatches(options.graph, hops, options.batch, rank, size, options.workers,
                             Link(os.environ.get("RUDDER_LINK", "")))
    model = DistributedDataParallel(Sage(batches.columns, options.hidden, batches.classes))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
    for epoch in range(options.epochs):
        start, used, steps = time.perf_counter(), cpu(), 0
        for x, edges, y in batches:
            loss = F.cross_entropy(model(x, edges, len(y)), y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            steps += 1
        if rank == 0:
            print(json.dumps({"epoch": epoch, "seconds": time.perf_counter() - start, "cpu": cpu() - used, "steps": steps,
                              "loss": float(loss)}), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
