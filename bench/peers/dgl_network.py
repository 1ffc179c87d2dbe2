"""GraphSAGE of two layers in DGL, with the mean, as `rudder train` has it."""
import dgl.nn
import torch
from torch.nn import functional


class Sage(torch.nn.Module):
    def __init__(self, columns, hidden, classes):
        super().__init__()
        self.first = dgl.nn.SAGEConv(columns, hidden, "mean")
        self.second = dgl.nn.SAGEConv(hidden, classes, "mean")

    def forward(self, blocks, rows):
        hidden = functional.relu(self.first(blocks[0], rows))
        return self.second(blocks[1], functional.dropout(hidden, 0.5, self.training))


def step(network, optimiser, blocks, rows, labels):
    """One training step; its loss."""
    loss = functional.cross_entropy(network(blocks, rows), labels)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return float(loss)
