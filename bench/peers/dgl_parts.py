"""Divides a graph by DGL's own METIS into the files DistDGL reads, and writes each vertex's part for Rudder.

    dgl_parts.py --graph NPZ --out FOLDER --parts N
"""
import json
import os

import dgl
import numpy as np
import torch

import arrays

options = arrays.settings("out", "parts")
graph = arrays.Graph(options.graph)
whole = dgl.graph((torch.from_numpy(graph.source), torch.from_numpy(graph.target)), num_nodes=graph.vertices)
whole.ndata["features"] = torch.from_numpy(graph.features)
whole.ndata["labels"] = torch.from_numpy(graph.labels)
whole.ndata["train_mask"] = torch.from_numpy(graph.masks["train"])
order, _ = dgl.distributed.partition_graph(
    whole, "graph", int(options.parts), options.out, part_method="metis", balance_ntypes=whole.ndata["train_mask"],
    balance_edges=True, num_trainers_per_machine=1, return_mapping=True)
with open(os.path.join(options.out, "graph.json")) as file:
    ranges = json.load(file)["node_map"]["_N"]
assignment = np.empty(graph.vertices, np.int32)
for part, (begin, end) in enumerate(ranges):
    assignment[order[begin:end].numpy()] = part
np.save(os.path.join(options.out, "assignment.npy"), assignment)
cut = float((assignment[graph.source] != assignment[graph.target]).mean())
print(json.dumps({"parts": np.bincount(assignment).tolist(), "cut": cut}))
