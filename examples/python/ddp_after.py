"""GraphSAGE of PyTorch Geometric on several processes, each with its part of the graph: three lines of ddp_before.py changed.

torchrun --nproc-per-node 4 examples/python/ddp_after.py PATH [EPOCHS]
"""

import sys

import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from rudder import Dataset, NeighborLoader
from torch_geometric.nn import GraphSAGE


def main(path, epochs):
    torch.distributed.init_process_group("gloo")
    data = Dataset(path)
    loader = NeighborLoader(path, num_neighbors=[25, 10], batch_size=200)
    model = DistributedDataParallel(GraphSAGE(data.num_features, 256, 2, data.num_classes))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
    for epoch in range(epochs):
        for batch in loader:
            out = model(batch.x, batch.edge_index)[:batch.batch_size]
            loss = F.cross_entropy(out, batch.y[:batch.batch_size])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
