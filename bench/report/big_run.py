"""Writes the folder of a long run that never was, for reports: as many lines as a real one has.

    big_run.py FOLDER [--steps 100000] [--ranks 16]
"""
import argparse
import json
import os
import random


def templates(ranks, count=509):
    """Ends of lines, from the loss on; which one a line gets does not repeat with steps or ranks."""
    random.seed(1)
    made = []
    for _ in range(count):
        local, hit, demand = (random.randint(100, 30000) for _ in range(3))
        seconds = {"sample": random.random() / 100, "fetch": random.random() / 10,
                   "stall": random.expovariate(200), "compute": random.gauss(0.03, 0.002),
                   "reduce": random.random() / 50}
        # The waits are stall and reduce once more, divided: what is late in reduce is for rows, or for slower ranks.
        late, rows, agent = seconds["reduce"] * random.random(), random.random() / 2, seconds["stall"] * random.random() / 20
        seconds |= {"wait_rows": seconds["stall"] - agent + late * rows, "wait_gradients": seconds["reduce"] - late,
                    "wait_ranks": late * (1 - rows), "wait_agent": agent, "rest": random.random() / 1000}
        line = {"loss": random.random(),
                "seconds": {"step": seconds["stall"] + seconds["compute"] + seconds["reduce"] + seconds["rest"], **seconds},
                "rows": {"needed": local + hit + demand, "local": local, "hit": hit, "demand": demand,
                         "replacement": 0, "ahead": random.randint(0, 300), "wasted": 0,
                         "saved": random.randint(0, 50)},
                "bytes": {"features": demand * 256, "requests": demand * 4, "topology": 0,
                          "gradients": 228956, "evaluation": 0, "control": random.randint(0, 500)},
                "bytes_by_owner": [random.randint(0, 900000) for _ in range(ranks)],
                "edges": random.randint(30000, 50000),
                "knobs": {"policy": "window:16", "window": 16, "capacity": 2316, "decay": 0.99,
                          "distance": 2, "bulk": 0, "sample_threads": 1, "fetch_threads": 1,
                          "demand_first": 1, "in_flight": 2, "buckets": 0}}
        made.append(json.dumps(line, separators=(",", ":"))[1:] + "\n")
    return made


def write_card(folder, ranks):
    """run.json with a partition of as many parts as ranks."""
    halo = [[0 if a == b else random.randint(10, 90000) for b in range(ranks)] for a in range(ranks)]
    parts = {"parts": ranks, "method": "metis", "vertices": 1000 * ranks, "edges": 9000 * ranks, "cut": 0.2,
             "balance": 1.01, "train_balance": 1.02, "edge_balance": 1.03, "halo": [sum(row) for row in halo],
             "part_vertices": [1000] * ranks, "part_train": [100] * ranks, "part_edges": [9000] * ranks,
             "halo_from": halo}
    with open(os.path.join(folder, "run.json"), "w") as file:
        json.dump({"schema": 1, "ranks": ranks, "policy": "window:16", "agent": "bandit", "state": "finished",
                   "partition": parts}, file)


def write_profile(folder, ranks, steps=200):
    """profile.json: an epoch of so many steps, five spans each on three threads of every rank."""
    events = []
    for rank in range(ranks):
        for tid, name in ((1, "main"), (2, "fetch 0"), (3, "sampler 0")):
            events.append({"ph": "M", "name": "thread_name", "pid": rank + 1, "tid": tid, "args": {"name": name}})
        for step in range(steps):
            at = 40000.0 * step
            for tid, name, category, begin, length in (
                    (1, "step", "step", 0, 40000), (1, "stall", "stall", 0, 5000 + 100 * rank),
                    (1, "compute", "compute", 7000, 25000), (1, "reduce", "reduce", 32000, 8000),
                    (2, "fetch", "fetch", 3000, 20000), (3, "sample", "sample", 9000, 9000)):
                events.append({"ph": "X", "name": name, "cat": category, "pid": rank + 1, "tid": tid,
                               "ts": at + begin, "dur": length, "args": {"step": step}})
    with open(os.path.join(folder, "profile.json"), "w") as file:
        file.write('{"traceEvents":[\n' + ",\n".join(json.dumps(e, separators=(",", ":")) for e in events) + "\n]}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--ranks", type=int, default=16)
    o = parser.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    ends = templates(o.ranks)
    per_epoch = 1000
    with open(os.path.join(o.folder, "metrics.jsonl"), "w") as file:
        for step in range(o.steps):
            file.write("".join('{"step":%d,"epoch":%d,"rank":%d,%s' %
                               (step, step // per_epoch, rank, ends[(step * o.ranks + rank) % len(ends)])
                               for rank in range(o.ranks)))
    write_card(o.folder, o.ranks)
    write_profile(o.folder, o.ranks)
    epochs = (o.steps + per_epoch - 1) // per_epoch
    with open(os.path.join(o.folder, "epochs.jsonl"), "w") as file:
        for epoch in range(epochs):
            share = 0.9 - 0.5 / (epoch + 1)
            file.write(json.dumps({"epoch": epoch, "steps": per_epoch, "loss": 1 / (epoch + 1), "seconds": 60,
                                   "evaluation_seconds": 2,
                                   "accuracy": {"train": share, "valid": share, "test": share}}) + "\n")
    # A decision every fourth step on every rank, most of them to keep things.
    with open(os.path.join(o.folder, "decisions.jsonl"), "w") as file:
        seen = {"rows": {"hit": 1000, "demand": 500}, "shadows": [{"rows": 1.5}] * 40, "history": []}
        for step in range(0, o.steps, 4):
            for rank in range(o.ranks):
                kind = "replace" if (step // 4 + rank) % 16 == 0 else "keep"
                good = (step // 4 * 7 + rank) % 5 != 0
                file.write(json.dumps(
                    {"step": step, "rank": rank, "agent": "bandit", "observation": seen,
                     "action": {"action": kind}, "effective_step": step + 1, "reason": "rule",
                     "latency": 1e-5, "status": "applied",
                     "outcome": {"steps": 8, "rows": 80.0 if good else 95.0 + rank, "hit_rate": 0.5,
                                 "seconds": 0.0, "correct": good} if kind != "keep" else None,
                     "alternatives": [{"action": {"action": "keep"}, "rows": 90.0}] if kind != "keep" else [],
                     "run": "big"}) + "\n")


main()
