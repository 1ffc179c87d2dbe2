"""PyG's NeighborLoader and SAGEConv in one process.

    pyg_loader.py --graph NPZ --hidden H --batch B --epochs E --threads T
"""
import time

import torch
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv

import arrays

options = arrays.settings()
torch.set_num_threads(options.threads)
torch.manual_seed(1)
graph = arrays.Graph(options.graph)
data = Data(x=torch.from_numpy(graph.features), y=torch.from_numpy(graph.labels), num_nodes=graph.vertices,
            edge_index=torch.stack([torch.from_numpy(graph.source), torch.from_numpy(graph.target)]))
# Its fan-outs begin at the seeds.
loader = NeighborLoader(data, num_neighbors=options.fanout[::-1], input_nodes=torch.from_numpy(graph.masks["train"]),
                        batch_size=options.batch, shuffle=True, num_workers=0)


class Sage(torch.nn.Module):
    """Each layer only for the vertices that the next one reads."""

    def __init__(self, columns, hidden, classes):
        super().__init__()
        self.first = SAGEConv(columns, hidden)
        self.second = SAGEConv(hidden, classes)

    def forward(self, rows, edges, seeds):
        last = edges[:, edges[1] < seeds]
        middle = max(int(last[0].max()) + 1, seeds)
        hidden = functional.relu(self.first((rows, rows[:middle]), edges))
        hidden = functional.dropout(hidden, 0.5, self.training)
        return self.second((hidden, hidden[:seeds]), last)


network = Sage(graph.features.shape[1], options.hidden, graph.classes)
optimiser = torch.optim.Adam(network.parameters(), lr=options.lr)
for epoch in range(options.epochs):
    start, used, edges, losses = time.perf_counter(), arrays.cpu_seconds(), 0, []
    for batch in loader:
        loss = functional.cross_entropy(network(batch.x, batch.edge_index, batch.batch_size), batch.y[:batch.batch_size])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss))
        edges += batch.edge_index.shape[1]
    arrays.tell(epoch, time.perf_counter() - start, arrays.cpu_seconds() - used, edges, sum(losses) / len(losses))
