"""GraphSAGE of PyTorch Geometric under DistributedDataParallel.

torchrun --nproc-per-node 4 examples/python/sage_ddp.py PATH [EPOCHS]
"""

import sys

import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import SAGEConv

import rudder


class Sage(torch.nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.convs = torch.nn.ModuleList([SAGEConv(inputs, hidden), SAGEConv(hidden, outputs)])

    def forward(self, batch):
        h = batch.x
        for number, conv in enumerate(self.convs):
            edge_index, sources, destinations = rudder.layer(batch, number)
            h = conv((h, h[:destinations]), edge_index)
            if number + 1 < len(self.convs):
                h = F.dropout(F.relu(h), training=self.training)
        return h


def main(path, epochs):
    torch.distributed.init_process_group("gloo")
    loader = rudder.NeighborLoader(path, num_neighbors=[25, 10], epochs=epochs)
    model = DistributedDataParallel(Sage(loader.num_features, 256, loader.num_classes))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
    for epoch in range(epochs):
        for batch in loader:
            loss = F.cross_entropy(model(batch), batch.y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if loader.rank == 0:
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
    loader.close()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
