#!/usr/bin/env python3
"""Rudder beside DistDGL, DGL's loader and PyG's, on one graph, in turns.

    bench_peers.py [--build build/release] [--data FILE.npz] [--epochs 5] [--rounds 3]

Peers are installed from PyPI into environments of their own under build/peers; one that cannot be is named and left
out. With DistDGL there, its METIS divides the graph, and Rudder takes the same parts. Prints one table and writes
build/peers/result.json. Exit: 0, 1 where Rudder itself failed, 2 for wrong use.
"""
import argparse
import datetime
import json
import os
import shlex
import sys

import sides
from environments import Absent, Environment, call

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = (4, 1)  # ranks
PYG_LIB = ("--no-deps", "--find-links", "https://data.pyg.org/whl/torch-2.2.0+cpu.html", "pyg-lib==0.4.0")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench_peers.py", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--build", default="build/release", help="build folder with the program")
    add("--work", default="build/peers", help="folder of environments, graphs and result.json")
    add("--data", help="graph to import (default: one is generated, of the size of npm's)")
    add("--vertices", type=int, default=304_000, help="of the generated graph")
    add("--hidden", default="16,256", help="widths of the hidden layer")
    for name, value, what in (("batch", 1000, "seeds per rank and step"), ("epochs", 5, "the first does not count"),
                              ("rounds", 3, "each side in turn; medians")):
        add(f"--{name}", type=int, default=value, help=what)
    add("--without", default="", help="peers to leave out: dgl, pyg")
    add("--build-pyg", action="store_true", help="compile torch-sparse for PyG: up to half an hour")
    add("--peer", action="append", default=[], metavar="RANKS:NAME=COMMAND",
        help="one more peer: a command that takes the options of dgl_loader.py and prints its lines")
    setup = parser.parse_args(arguments)
    for name in ("vertices", "batch", "epochs", "rounds"):
        if getattr(setup, name) <= 0:
            parser.error(f"invalid --{name}: {getattr(setup, name)}")
    try:
        setup.hidden = [int(width) for width in setup.hidden.split(",")]
    except ValueError:
        parser.error(f"invalid --hidden: {setup.hidden}")
    setup.without = [name for name in setup.without.split(",") if name]
    for name in setup.without:
        if name not in ("dgl", "pyg"):
            parser.error(f"invalid --without: {name} (dgl, pyg)")
    setup.rudder = os.path.join(setup.build, "src", "cli", "rudder")
    if not os.access(setup.rudder, os.X_OK):
        parser.error(f"no program {setup.rudder}: make bench-peers builds it")
    if setup.data and not os.path.exists(setup.data):
        parser.error(f"invalid --data: there is no {setup.data}")
    setup.peer = [parse_peer(parser, text) for text in setup.peer]
    return setup


def parse_peer(parser, text):
    ranks, _, rest = text.partition(":")
    name, _, command = rest.partition("=")
    if not ranks.isdigit() or int(ranks) not in GROUPS or not name or not command:
        parser.error(f"invalid --peer: {text} (RANKS:NAME=COMMAND, RANKS 1 or 4)")
    return int(ranks), name, shlex.split(command)


class Bench:
    def __init__(self, setup):
        self.setup = setup
        name = os.path.splitext(os.path.basename(setup.data))[0] if setup.data else f"generated-{setup.vertices}"
        self.name = name
        self.folder = os.path.join(setup.work, "graphs", name)
        self.graph = os.path.join(self.folder, "graph")
        self.archive = os.path.join(self.folder, "graph.npz")
        self.absent = {}
        self.pythons = {}

    def rudder(self, *arguments):
        return call([self.setup.rudder, *map(str, arguments), "--json", "--quiet"], sides.LIMIT,
                    f"rudder {arguments[0]}")

    # What is compared on.

    def make_graph(self):
        if not os.path.exists(self.archive):
            os.makedirs(self.folder, exist_ok=True)
            if self.setup.data:
                self._import()
            else:
                self.rudder("generate", "sbm", self.graph, "--vertices", self.setup.vertices, "--degree", 7.7,
                            "--classes", 40, "--skew", 5, "--features", "planted:100", "--split", "20/5/75", "--force")
            self.rudder("export", self.graph, self.archive, "--force")
        self.info = json.loads(self.rudder("info", self.graph))

    def _import(self):
        """A file without features gets random ones."""
        try:
            self.rudder("import", self.setup.data, self.graph, "--force")
            if json.loads(self.rudder("info", self.graph))["features"]["width"]:
                return
        except (Absent, KeyError, TypeError):
            pass
        self.rudder("import", self.setup.data, self.graph, "--features", "random:100", "--force")

    def parts(self, count):
        """The folder of so many parts; DGL's where it divided the graph."""
        assignment = os.path.join(self.folder, f"dgl{count}", "assignment.npy")
        given = count > 1 and os.path.exists(assignment)
        folder = os.path.join(self.folder, f"parts{count}" + ("-dgl" if given else ""))
        if not os.path.exists(os.path.join(folder, "manifest.json")):
            extra = ["--assignment", assignment] if given else []
            self.rudder("partition", self.graph, folder, "--parts", count, "--force", *extra)
        return folder

    # Who is compared.

    def environment(self, peer, requirements, test, **packages):
        try:
            if peer in self.setup.without:
                raise Absent("left out by --without")
            print(f"environment of {peer}: made where it is not there yet", file=sys.stderr, flush=True)
            self.pythons[peer] = Environment(os.path.join(self.setup.work, f"env-{peer}"), requirements, test,
                                             **packages).ready()
        except Absent as reason:
            self.absent[peer] = str(reason)

    def peers(self):
        """Sides by group. Peers come into being here; those that cannot are noted in `absent`."""
        self.environment("dgl", "requirements-dgl.txt", "import dgl.distributed, dgl.nn")
        test = "import torch_geometric.typing as t; assert t.WITH_PYG_LIB or t.WITH_TORCH_SPARSE"
        if self.setup.build_pyg:
            self.environment("pyg", "requirements-pyg.txt", test, built=("torch-scatter==2.1.2", "torch-sparse==0.6.18"))
        else:
            self.environment("pyg", "requirements-pyg.txt", test, first=PYG_LIB)
            if "pyg" in self.absent and "pyg" not in self.setup.without:
                self.absent["pyg"] += " (its loader needs pyg-lib, which PyPI does not have, or torch-sparse, which " \
                                      "--build-pyg compiles)"
        groups = {ranks: [] for ranks in GROUPS}
        if "dgl" in self.pythons:
            try:
                groups[4].append(self.dist_dgl())
            except Absent as reason:
                self.absent["DistDGL"] = str(reason)
            groups[1].append(self.loader("DGL", "dgl", "dgl_loader.py"))
        if "pyg" in self.pythons:
            groups[1].append(self.loader("PyG", "pyg", "pyg_loader.py"))
        for ranks, name, command in self.setup.peer:
            groups[ranks].append(sides.Command(name, command, self.archive))
        groups[4] = [sides.Rudder(self.setup.rudder, self.parts(4), policy) for policy in ("default", "none")] + groups[4]
        groups[1] = [sides.Rudder(self.setup.rudder, self.parts(1), "default"), *groups[1]]
        return groups

    def loader(self, name, peer, script):
        return sides.Command(name, [self.pythons[peer], os.path.join(HERE, script)], self.archive)

    def dist_dgl(self):
        prefix = sides.namespaces()
        folder = os.path.join(self.folder, "dgl4")
        if not os.path.exists(os.path.join(folder, "assignment.npy")):
            call([self.pythons["dgl"], os.path.join(HERE, "dgl_parts.py"), "--graph", self.archive, "--out", folder,
                  "--parts", "4"], sides.LIMIT, "dividing the graph")
        return sides.DistDgl(self.pythons["dgl"], os.path.abspath(folder), prefix)

    # The comparison.

    def setting(self, ranks, hidden):
        cores = len(os.sched_getaffinity(0))
        return sides.Setting(ranks, hidden, self.setup.batch, self.setup.epochs, max(1, cores // ranks),
                             self.info["classes"])

    def measure(self, groups):
        """Figures by ranks, hidden and side, a list of rounds each; None once a side has failed."""
        found = {(ranks, hidden, side.name): [] for ranks in GROUPS for hidden in self.setup.hidden
                 for side in groups[ranks]}
        for turn in range(self.setup.rounds):
            for ranks in GROUPS:
                for hidden in self.setup.hidden:
                    for side in groups[ranks]:
                        key = (ranks, hidden, side.name)
                        if found[key] is None:
                            continue
                        try:
                            found[key].append(side.train(self.setting(ranks, hidden)))
                            print(f"  round {turn + 1}: {ranks} x {side.name}, hidden {hidden}: "
                                  f"{found[key][-1].epoch:.3f} s", file=sys.stderr, flush=True)
                        except Absent as reason:
                            found[key] = None
                            self.absent[f"{side.name}, ranks {ranks}, hidden {hidden}"] = str(reason)
        return found


def rows_of(found):
    """One per side and setting; Rudder's with its ratios to every peer, round by round."""
    rows = []
    for (ranks, hidden, name), rounds in found.items():
        if not rounds:
            continue
        row = {"ranks": ranks, "hidden": hidden, "side": name, "epoch": sides.middle([r.epoch for r in rounds]),
               "cpu": sides.middle([r.cpu for r in rounds]), "edges": sides.middle([r.edges for r in rounds]), "over": {}}
        for (other_ranks, other_hidden, other), its in found.items():
            if not name.startswith("Rudder") or other.startswith("Rudder") or not its:
                continue
            if (other_ranks, other_hidden) == (ranks, hidden):
                row["over"][other] = {key: sides.middle([getattr(a, key) / getattr(b, key) for a, b in zip(rounds, its)])
                                      for key in ("epoch", "cpu")}
        rows.append(row)
    return rows


def table(rows):
    lines = [["ranks", "hidden", "side", "epoch s", "CPU s", "M edges", "epoch over", "CPU over"]]
    for row in rows:
        over = [" ".join(f"{value[key]:.2f} {peer}" for peer, value in row["over"].items()) for key in ("epoch", "cpu")]
        lines.append([str(row["ranks"]), str(row["hidden"]), row["side"], f"{row['epoch']:.3f}", f"{row['cpu']:.3f}",
                      f"{row['edges'] / 1e6:.2f}", *over])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def main():
    setup = parse(sys.argv[1:])
    bench = Bench(setup)
    try:
        bench.make_graph()
        groups = bench.peers()
    except Absent as reason:
        sys.exit(f"bench_peers.py: {reason}")
    rows = rows_of(bench.measure(groups))
    info = bench.info
    print(f"{bench.name}: {info['vertices']:,} vertices, {info['edges']:,} stored edges, {info['train']:,} for training; "
          f"batch {setup.batch}, fan-out 10,25, float32; {datetime.date.today()}; medians of {setup.rounds} rounds\n")
    print(table(rows))
    for peer, reason in bench.absent.items():
        print(f"absent: {peer}: {reason}")
    path = os.path.join(setup.work, "result.json")
    with open(path, "w") as file:
        json.dump({"schema": 1, "graph": bench.name, "date": str(datetime.date.today()), "rounds": setup.rounds,
                   "batch": setup.batch, "epochs": setup.epochs, "rows": rows, "absent": bench.absent}, file, indent=1)
    print(f"Written: {path}")
    sys.exit(1 if any(peer.startswith("Rudder") for peer in bench.absent) else 0)


if __name__ == "__main__":
    main()
