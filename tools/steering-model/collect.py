#!/usr/bin/env python3
"""Collects decisions for a small language model on made graphs: generate, partition, train, agent collect --for llm.

    tools/steering-model/collect.py --out decisions --minutes 60 [--seed 0] [--rudder build/release/src/cli/rudder]

Worlds are drawn by the seed and their number: kind of graph, size, skew, parts, batch, fan-out, buffer, the policies
to start from, how often is asked, whether over a trace or while training, and how the link between hosts changes. Of
world 12 stay OUT/world-00012.jsonl (the decisions) and, written last, OUT/world-00012.json (how it was drawn, which
commands ran, how many lines there are). Called again, it goes on behind the worlds that are there; one that fails is
noted in its file and not tried again. Nothing is read but what it made itself. Standard library only.
"""
import argparse
import ast
import concurrent.futures
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time
import zipfile

EDGES = ["num_nodes.npy", "src.npy", "dst.npy"]  # of an exported graph
STARTS = ["scored", "scored-faithful", "window:4", "window:16", "window:64", "lru", "lfu", "static-degree"]
DECIDES = "scored-faithful"  # waits to be told when to replace; begun from more often, so that yes and no are learned


def draw_link(rng, steps):
    """A link, which may become slower or faster some steps on."""
    def link():
        return rng.choice(["20us", "100us", "500us"]) + "," + rng.choice(["100mbit", "1gbit", "10gbit"])
    text = link()
    for at in sorted(rng.sample(range(16, max(17, steps)), k=min(rng.choice([0, 1, 2]), max(0, steps - 17)))):
        text += f";step:{at}:{link()}"
    return text


def draw_graph(rng):
    kind = rng.choice(["sbm", "sbm", "rmat", "ba", "grid"])
    vertices = int(2 ** rng.uniform(9.5, 13.5))
    words = ["--vertices", str(vertices), "--seed", str(rng.randrange(2**31))]
    if kind == "sbm":
        words += ["--degree", f"{rng.uniform(4, 24):.1f}", "--classes", str(rng.choice([4, 10, 32])),
                  "--inside", f"{rng.uniform(0.5, 0.95):.2f}", "--skew", f"{rng.uniform(1, 3):.2f}"]
    elif kind == "rmat":
        a = rng.uniform(0.4, 0.65)
        b = (1 - a) * rng.uniform(0.3, 0.4)
        words += ["--degree", f"{rng.uniform(4, 24):.1f}", "--rmat-shares", f"{a:.3f},{b:.3f},{b:.3f}"]
    elif kind == "ba":
        words += ["--degree", str(rng.choice([2, 4, 8]))]
    return kind, vertices, words


def draw_world(seed, number):
    """All choices of one world; depends on nothing but its arguments."""
    rng = random.Random(f"rudder steering model {seed} {number}")
    kind, vertices, graph = draw_graph(rng)
    parts = rng.choice([2, 2, 3, 4])
    batch = rng.choice([16, 32, 64, 128])
    wanted = rng.choice([256, 512, 1024])
    training = max(1, int(0.6 * vertices / parts))
    epochs = max(1, min(200, round(wanted / max(1, training // batch))))
    live = rng.random() < 0.3
    world = {
        "seed": seed, "number": number, "kind": kind, "vertices": vertices, "graph": graph,
        "parts": parts, "method": rng.choice(["ldg", "ldg", "fennel", "random"]),
        "partition_seed": rng.randrange(2**31), "label_seed": rng.randrange(2**31),
        "width": rng.choice([8, 64, 256]),  # of a feature row: what a fetch weighs on a link
        "train": ["--batch", str(batch), "--epochs", str(epochs), "--hidden", "8",
                  "--fanout", rng.choice(["3,5", "5,10", "10,15", "10,25"]),
                  "--sampler", rng.choice(["shared", "plain"])],
        "ranks_per_host": rng.choice([r for r in (1, 1, 2) if parts % r == 0 and r < parts]),
        "collect": ["--buffer", f"{rng.choice([0.02, 0.05, 0.1, 0.25, 0.5])}", "--seed", str(rng.randrange(2**31)),
                    "--stride", str(rng.choice([1, 2, 4])), "--interval", str(rng.choice([8, 16, 16, 32])),
                    "--horizon", str(rng.choice([32, 64, 64, 128]))],
        "live": live,
        "link": draw_link(rng, wanted) if live and rng.random() < 0.7 else "",
    }
    policies = rng.sample(STARTS, k=1 if live else 2)
    if rng.random() < 0.4 and DECIDES not in policies:
        policies[0] = DECIDES
    for policy in policies:
        world["collect"] += ["--policy", policy]
    if rng.random() < 0.3:
        world["collect"] += ["--guarded"]
    return world


class Failed(Exception):
    pass


class Runner:
    """Runs the program, within the time of a world."""

    def __init__(self, rudder, threads, deadline):
        self.rudder, self.threads, self.deadline = rudder, threads, deadline
        self.commands = []

    def __call__(self, *words):
        command = [self.rudder, *map(str, words), "--quiet", "--threads", str(self.threads)]
        self.commands.append(command[1:])
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Failed("out of time")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            raise Failed("out of time: " + " ".join(command[1:4])) from None
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode} of {' '.join(command[1:])}: {done.stderr.strip()}")


def write_array(path, dtype, values):
    """A .npy file of one dimension."""
    code = {"<i8": "q"}[dtype]
    header = str({"descr": dtype, "fortran_order": False, "shape": (len(values),)})
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{code}", *values))


def keep_edges(archive, bare):
    """The edges of an exported graph alone, without its split of nothing. How many vertices it has."""
    with zipfile.ZipFile(archive) as entries, zipfile.ZipFile(bare, "w") as kept:
        for name in EDGES:
            kept.writestr(name, entries.read(name))
        bytes_ = entries.read("num_nodes.npy")
    length = struct.unpack("<H", bytes_[8:10])[0]
    header = ast.literal_eval(bytes_[10:10 + length].decode())
    return struct.unpack({"<i8": "<q", "<i4": "<i"}[header["descr"]], bytes_[10 + length:])[0]


def make_parts(run, world, work):
    """The partitioned graph; graphs without labels get some by chance, so that they can be trained on."""
    graph = os.path.join(work, "graph")
    if world["kind"] == "sbm":
        run("generate", "sbm", graph, "--features", f"planted:{world['width']}", *world["graph"])
    else:
        bare = os.path.join(work, "bare")
        run("generate", world["kind"], bare, "--features", "none", *world["graph"])
        run("export", bare, bare + ".npz")
        edges = os.path.join(work, "edges.npz")
        vertices = keep_edges(bare + ".npz", edges)
        rng = random.Random(world["label_seed"])
        labels = os.path.join(work, "labels.npy")
        write_array(labels, "<i8", [rng.randrange(8) for _ in range(vertices)])
        run("import", edges, graph, "--labels", labels, "--features", f"random:{world['width']}", "--seed",
            world["label_seed"])
    parts = os.path.join(work, "parts")
    run("partition", graph, parts, "--parts", world["parts"], "--method", world["method"], "--seed",
        world["partition_seed"])
    return parts


def collect_world(run, world, work, out):
    """Leaves `out`.jsonl."""
    parts = make_parts(run, world, work)
    name = f"{world['kind']}-{world['seed']}-{world['number']}"
    ranks = ["--ranks", world["parts"], "--ranks-per-host", world["ranks_per_host"]]
    collect = ["agent", "collect", "--for", "llm", "--out", out, "--force", *world["collect"]]
    if world["live"]:
        link = ["--link", world["link"]] if world["link"] else []
        run(*collect, f"{name}={parts}", *world["train"], *ranks, *link)
        return
    trace = os.path.join(work, "run")
    run("train", parts, "--policy", "window:16", "--eval-every", "0", "--trace", "--out", trace, *world["train"],
        *ranks)
    run(*collect, f"{name}={trace}")


def lines_in(path):
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def do_world(options, number):
    """One world, whole or not at all. Its record."""
    world = draw_world(options.seed, number)
    out = os.path.join(options.out, f"world-{number:05d}")
    work = os.path.join(options.out, f".work-{number:05d}")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    start = time.monotonic()
    run = Runner(options.rudder, options.threads, start + 60 * options.world_minutes)
    record = {"world": world, "commands": run.commands, "lines": 0, "failed": None}
    try:
        collect_world(run, world, work, out)
        record["lines"] = lines_in(out + ".jsonl")
    except Failed as problem:
        record["failed"] = str(problem)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    record["seconds"] = round(time.monotonic() - start, 1)
    with open(out + ".json.new", "w") as file:
        json.dump(record, file, indent=1)
    os.replace(out + ".json.new", out + ".json")
    return record


def collected(options):
    """The records of all worlds that are begun in time, as they come."""
    end = time.monotonic() + 60 * options.minutes
    left = (number for number in range(options.worlds)
            if not os.path.exists(os.path.join(options.out, f"world-{number:05d}.json")))
    under_way = set()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while True:
            while len(under_way) < options.jobs and time.monotonic() < end and (number := next(left, None)) is not None:
                under_way.add(pool.submit(do_world, options, number))
            if not under_way:
                return
            ready, under_way = concurrent.futures.wait(under_way, return_when=concurrent.futures.FIRST_COMPLETED)
            yield from sorted((future.result() for future in ready), key=lambda record: record["world"]["number"])


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, help="folder of the worlds")
    parser.add_argument("--minutes", type=float, required=True, help="budget: no world begins later")
    parser.add_argument("--worlds", type=int, default=1_000_000, help="number of worlds, at most")
    parser.add_argument("--world-minutes", type=float, default=10, help="limit of one world")
    parser.add_argument("--seed", type=int, default=0, help="what worlds are drawn by")
    parser.add_argument("--threads", type=int, default=0, help="threads of each command (0 = all cores)")
    parser.add_argument("--jobs", type=int, default=1, help="worlds at a time")
    parser.add_argument("--rudder", default=shutil.which("rudder") or "build/release/src/cli/rudder")
    return parser.parse_args(words)


def main(words):
    options = parse(words)
    if shutil.which(options.rudder) is None:
        print(f"collect.py: error: no program: {options.rudder}\n  to do: build it, or give --rudder", file=sys.stderr)
        return 2
    os.makedirs(options.out, exist_ok=True)
    lines = failed = done = 0
    for record in collected(options):
        done += 1
        lines += record["lines"]
        failed += record["failed"] is not None
        told = record["failed"] or f"{record['lines']} decisions"
        print(f"world {record['world']['number']}: {record['world']['kind']}, {told} in {record['seconds']} s", flush=True)
    print(f"{done} worlds, {lines} decisions, {failed} failed")
    return 0 if done == 0 or failed < done else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
