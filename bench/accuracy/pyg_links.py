"""The other side of links_bench.py: GraphSAGE on links in PyTorch Geometric.

    pyg_links.py WORK SETTINGS

WORK has graph.npz and given.csv; SETTINGS are JSON: hidden, lr, batch, epochs, seed. Prints {"mrr": ...}: that of
test at the best epoch by validation. As Rudder trains: a batch's own links leave the messages, links for
validation and test are in none, one pair with a vertex drawn among all beside each link, binary cross-entropy
of products, all neighbours.
"""
import json
import pathlib
import sys

import numpy as np
import torch
from torch_geometric.nn import SAGEConv


class Network(torch.nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.first = SAGEConv(inputs, hidden)
        self.second = SAGEConv(hidden, hidden)

    def forward(self, rows, edges):
        return self.second(self.first(rows, edges).relu(), edges)


def both_ways(pairs):
    return torch.cat([pairs, pairs.flip(1)]).t().contiguous()


def mrr(rows, links, lists):
    """Mean of one over the rank, over both directions: Rudder draws one of them."""
    total, count = 0.0, 0
    for source, target in torch.cat([links, links.flip(1)]).tolist():
        others = lists[source]
        scores = rows[others] @ rows[source]
        own = rows[source] @ rows[target]
        total += 1 / (1 + (scores > own).sum().item() + (scores == own).sum().item() / 2)
        count += 1
    return total / count


def main():
    work, settings = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
    torch.manual_seed(settings["seed"])
    graph = np.load(work / "graph.npz")
    rows = torch.from_numpy(graph["x"])
    pairs = torch.from_numpy(np.stack([graph["src"], graph["dst"]], 1))
    roles = torch.from_numpy(graph["edge_split"])
    vertices = len(rows)
    known = set(map(tuple, both_ways(pairs).t().tolist()))
    lists = {}
    for a, b in np.loadtxt(work / "given.csv", np.int64, delimiter=",", skiprows=1).tolist():
        if (a, b) in known:
            continue
        lists.setdefault(a, set()).add(b)
        lists.setdefault(b, set()).add(a)
    lists = {v: torch.tensor(sorted(others)) for v, others in lists.items()}
    train, valid, test = (pairs[roles == role] for role in (1, 2, 3))
    network = Network(rows.shape[1], settings["hidden"])
    optimiser = torch.optim.Adam(network.parameters(), lr=settings["lr"])
    best, answer = -1.0, 0.0
    steps = -(-len(train) // settings["batch"])
    for _ in range(settings["epochs"]):
        network.train()
        for batch in torch.randperm(len(train)).tensor_split(steps):
            stays = torch.ones(len(train), dtype=torch.bool)
            stays[batch] = False
            out = network(rows, both_ways(train[stays]))
            links = train[batch]
            turned = torch.rand(len(links)) < 0.5
            links = torch.where(turned[:, None], links.flip(1), links)
            others = torch.randint(vertices, (len(links),))
            joined = (out[links[:, 0]] * out[links[:, 1]]).sum(1)
            apart = (out[links[:, 0]] * out[others]).sum(1)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                torch.cat([joined, apart]), torch.cat([torch.ones(len(links)), torch.zeros(len(links))]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        network.eval()
        with torch.no_grad():
            out = network(rows, both_ways(train))
            score = mrr(out, valid, lists)
            if score > best:
                best, answer = score, mrr(out, test, lists)
    print(json.dumps({"mrr": answer}))


if __name__ == "__main__":
    main()
