"""DGL's own loader and network in one process.

    dgl_loader.py --graph NPZ --hidden H --batch B --epochs E --threads T
"""
import time

import dgl
import torch

import arrays
from dgl_network import Sage, step

options = arrays.settings()
torch.set_num_threads(options.threads)
torch.manual_seed(1)
graph = arrays.Graph(options.graph)
rows, labels = torch.from_numpy(graph.features), torch.from_numpy(graph.labels)
whole = dgl.graph((torch.from_numpy(graph.source), torch.from_numpy(graph.target)), num_nodes=graph.vertices)
whole = whole.formats(["csc"])
seeds = torch.nonzero(torch.from_numpy(graph.masks["train"])).squeeze()
loader = dgl.dataloading.DataLoader(whole, seeds, dgl.dataloading.NeighborSampler(options.fanout),
                                    batch_size=options.batch, shuffle=True, num_workers=0)
network = Sage(rows.shape[1], options.hidden, graph.classes)
optimiser = torch.optim.Adam(network.parameters(), lr=options.lr)
for epoch in range(options.epochs):
    start, used, edges, losses = time.perf_counter(), arrays.cpu_seconds(), 0, []
    for inputs, outputs, blocks in loader:
        losses.append(step(network, optimiser, blocks, torch.index_select(rows, 0, inputs), labels[outputs]))
        edges += sum(block.num_edges() for block in blocks)
    arrays.tell(epoch, time.perf_counter() - start, arrays.cpu_seconds() - used, edges, sum(losses) / len(losses))
