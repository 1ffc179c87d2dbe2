"""A trainer of DistDGL on one of dgl_machine.py's machines; the first tells of every epoch.

    dgl_trainer.py --graph NAME --classes N --hidden H --batch B --epochs E

Two things differ from several real machines: all have one network interface, so the machine's number comes from the
environment; and CPU seconds are those of the trainer and of its server.
"""
import os
import time

import dgl.distributed
import dgl.distributed.rpc_client
import torch

import arrays
from dgl_network import Sage, step

options = arrays.settings("classes")
classes = int(options.classes)
dgl.distributed.rpc_client.get_local_machine_id = lambda book: int(os.environ["PEER_MACHINE"])


def server_cpu():
    with open(f"/proc/{os.environ['PEER_SERVER']}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sums(*values):
    """Of all trainers."""
    all_of = torch.tensor(values, dtype=torch.float64)
    torch.distributed.all_reduce(all_of)
    return all_of.tolist()


torch.set_num_threads(1)
dgl.distributed.initialize(os.environ["DGL_IP_CONFIG"])
torch.distributed.init_process_group("gloo")
graph = dgl.distributed.DistGraph(options.graph, part_config=os.environ["DGL_CONF_PATH"])
seeds = dgl.distributed.node_split(graph.ndata["train_mask"], graph.get_partition_book(), force_even=True)
loader = dgl.dataloading.DistNodeDataLoader(graph, seeds, dgl.dataloading.NeighborSampler(options.fanout),
                                            batch_size=options.batch, shuffle=True, drop_last=False)
torch.manual_seed(1)
network = torch.nn.parallel.DistributedDataParallel(Sage(graph.ndata["features"].shape[1], options.hidden, classes))
optimiser = torch.optim.Adam(network.parameters(), lr=options.lr)
for epoch in range(options.epochs):
    torch.distributed.barrier()
    start, used, edges, losses = time.perf_counter(), arrays.cpu_seconds() + server_cpu(), 0, []
    with network.join():
        for inputs, outputs, blocks in loader:
            rows, labels = graph.ndata["features"][inputs], graph.ndata["labels"][outputs]
            losses.append(step(network, optimiser, blocks, rows, labels))
            edges += sum(block.num_edges() for block in blocks)
    torch.distributed.barrier()
    seconds = time.perf_counter() - start
    cpu, edges, loss, steps = sums(arrays.cpu_seconds() + server_cpu() - used, edges, sum(losses), len(losses))
    if torch.distributed.get_rank() == 0:
        arrays.tell(epoch, seconds, cpu, edges, loss / steps)
torch.distributed.barrier()
