"""A network of one's own, attention written by hand: the loader asks nothing of it.

python3 examples/python/gat.py PATH [EPOCHS]
"""

import sys

import torch
import torch.nn.functional as F

import rudder


class Attention(torch.nn.Module):
    """Each destination weighs what it reads by a score of both ends."""

    def __init__(self, inputs, outputs, heads):
        super().__init__()
        self.heads = heads
        self.map = torch.nn.Linear(inputs, heads * outputs, bias=False)
        self.source = torch.nn.Parameter(torch.randn(heads, outputs) / outputs ** 0.5)
        self.destination = torch.nn.Parameter(torch.randn(heads, outputs) / outputs ** 0.5)

    def forward(self, h, edge_index, destinations):
        h = self.map(h).view(len(h), self.heads, -1)
        loops = torch.arange(destinations).repeat(2, 1)
        source, destination = torch.cat([edge_index, loops], 1)
        scores = F.leaky_relu((h * self.source).sum(-1)[source] + (h * self.destination).sum(-1)[destination], 0.2)
        weights = (scores - scores.max()).exp()
        total = torch.zeros(destinations, self.heads).index_add(0, destination, weights)
        weights = weights / total[destination]
        return torch.zeros(destinations, *h.shape[1:]).index_add(0, destination, weights[..., None] * h[source])


class Gat(torch.nn.Module):
    def __init__(self, inputs, hidden, outputs, heads=4):
        super().__init__()
        self.first = Attention(inputs, hidden, heads)
        self.second = Attention(heads * hidden, outputs, 1)

    def forward(self, batch):
        edges, _, destinations = rudder.layer(batch, 0)
        h = F.elu(self.first(batch.x, edges, destinations).flatten(1))
        edges, _, destinations = rudder.layer(batch, 1)
        return self.second(h, edges, destinations).flatten(1)


def main(path, epochs):
    torch.manual_seed(1)
    loader = rudder.NeighborLoader(path, num_neighbors=[10, 10], seed=1, epochs=epochs)
    model = Gat(loader.num_features, 16, loader.num_classes)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(epochs):
        for batch in loader:
            loss = F.cross_entropy(model(batch), batch.y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
