#!/usr/bin/env python3
"""The six classifiers on graphs they were not fitted to: the table of docs/classifiers.md.

    classifiers_table.py RUDDER DATA_FOLDER --out FILE [--steps 2000] [--work FOLDER]

Partitions each graph into 4, trains on it with --trace, collects samples at buffers of 5 and 25 % of
the halo, fits each classifier to the other graphs, repaired and as published (faithful), tests it on
this one and replays this one's trace with it as the agent. Results are kept in --work, one file per
step: a second call goes on with what is missing. Graphs that DATA_FOLDER lacks are named and left out.
"""
import argparse
import datetime
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys

KINDS = ["lr", "svm", "rf", "xgb", "mlp", "tabnet"]
VARIANTS = {"repaired": [], "faithful": ["--faithful"]}
GRAPHS = {
    "npm_deps": {"import": ["--features", "structure:16"], "batch": 250},
    "debian_bookworm": {"import": [], "batch": 250},
    "coauthor_phy": {"import": ["--row-normalise"], "batch": 125},
}
OTHER = {"import": [], "batch": 20}  # of a graph that is not in the list
PARTS = 4
BUFFERS = ["0.05", "0.25"]
POLICY = "scored-faithful"
# Whether classifiers answer well is asked here; the guard would bound what they cost.
NO_GUARD = "1000"


class Failed(Exception):
    """A command that did not end well."""


class Table:
    def __init__(self, options):
        self.o = options
        self.rudder = str(pathlib.Path(options.rudder).resolve())
        self.work = pathlib.Path(options.work)
        self.results = self.work / "results"
        self.results.mkdir(parents=True, exist_ok=True)
        self.hold_settings()

    def hold_settings(self):
        """Results of other settings are not continued."""
        wanted = {"steps": self.o.steps, "stride": self.o.stride, "guard": self.o.guard,
                  "graphs": self.o.graphs, "seed": self.o.seed}
        path = self.work / "settings.json"
        if path.exists() and json.loads(path.read_text()) != wanted:
            sys.exit(f"error: {self.work} holds results of other settings: {path.read_text()}\n"
                     "  give another --work, or remove it")
        path.write_text(json.dumps(wanted))

    def call(self, *words):
        done = subprocess.run([self.rudder, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, done.args))}\n{done.stderr}")
        return done.stdout

    def kept(self, name, make):
        path = self.results / f"{name}.json"
        if not path.exists():
            print(f"{datetime.datetime.now():%H:%M:%S} {name}", file=sys.stderr, flush=True)
            value = make()
            part = path.with_suffix(".part")
            part.write_text(json.dumps(value))
            part.rename(path)
        return json.loads(path.read_text())

    def facts(self, graph):
        return GRAPHS.get(graph, OTHER)

    def parts(self, graph):
        """The partition, and what `info` says of it."""
        whole, folder = self.work / graph, self.work / f"{graph}-{PARTS}"

        def make():
            for old in (whole, folder):
                shutil.rmtree(old, ignore_errors=True)
            source = pathlib.Path(self.o.data) / f"{graph}.npz"
            self.call("import", source, whole, *self.facts(graph)["import"], "--quiet")
            self.call("partition", whole, folder, "--parts", PARTS, "--quiet")
            shutil.rmtree(whole)
            return json.loads(self.call("info", folder, "--json"))
        return folder, self.kept(f"parts.{graph}", make)

    def run(self, graph):
        """A run of at least --steps steps, traced."""
        folder, info = self.parts(graph)
        out = self.work / f"run-{graph}"

        def make():
            batch = self.facts(graph)["batch"]
            seeds = info["train"] / PARTS * info["train_balance"]
            epochs = math.ceil(self.o.steps / math.ceil(seeds / batch))
            shutil.rmtree(out, ignore_errors=True)
            self.call("train", folder, "--ranks", PARTS, "--ranks-per-host", 1, "--trace", "--policy", "none",
                      "--agent", "never", "--eval-every", 0, "--hidden", 16, "--fanout", "10,25", "--batch", batch,
                      "--epochs", epochs, "--seed", self.o.seed, "--checkpoint-every", 0, "--out", out, "--quiet")
            return {"epochs": epochs, "batch": batch}
        self.kept(f"run.{graph}", make)
        return out

    def samples(self, graph):
        out = self.work / f"samples-{graph}"

        def make():
            sizes = [word for buffer in BUFFERS for word in ("--buffer", buffer)]
            return json.loads(self.call("agent", "collect", f"{graph}={self.run(graph)}", "--policy", POLICY, *sizes,
                                        "--stride", self.o.stride, "--out", out, "--force", "--json"))
        self.kept(f"samples.{graph}", make)
        return f"{out}.npz"

    def fit(self, kind, graph, variant, more=()):
        """Fitted to all graphs but this one."""
        model = self.work / f"{graph}-{variant}-{kind}.model"
        tables = [self.samples(one) for one in self.o.graphs]
        return json.loads(self.call("agent", "train", kind, *tables, "--test", graph, *VARIANTS[variant], *more,
                                    "--out", model, "--force", "--json"))

    def report(self, kind, graph, variant):
        return self.kept(f"fit.{graph}.{variant}.{kind}", lambda: self.fit(kind, graph, variant))

    def ceiling(self, graph, variant):
        """The estimate of `--ceiling`, or whatever a tested classifier reached beyond it."""
        inside = self.kept(f"ceiling.{graph}.{variant}",
                           lambda: self.fit("lr", graph, variant, ["--ceiling"])["ceiling"])
        return max([inside["balanced"]] +
                   [self.report(kind, graph, variant)["test"]["balanced"] for kind in self.o.kinds])

    def agent(self, kind, graph, variant):
        self.report(kind, graph, variant)
        model = self.work / f"{graph}-{variant}-{kind}.model"
        return f"{kind}:{model}" + (",faithful" if variant == "faithful" else "")

    def replays(self, graph, buffer):
        """One result per agent. Those that are missing are made by one call, which finds the best rule once."""
        wanted = {(kind, variant): f"replay.{graph}.{variant}.{kind}.{buffer}" for variant in VARIANTS
                  for kind in self.o.kinds}
        missing = {name: self.agent(key[0], graph, key[1]) for key, name in wanted.items()
                   if not (self.results / f"{name}.json").exists()}
        made = self.replay(graph, buffer, list(missing.values())) if missing else {}
        return {key: self.kept(name, lambda name=name: made[missing[name]]) for key, name in wanted.items()}

    def replay(self, graph, buffer, agents):
        """What each agent comes to, by its name."""
        print(f"{datetime.datetime.now():%H:%M:%S} replaying {graph} at {buffer}", file=sys.stderr, flush=True)
        log = self.work / "decisions.jsonl"
        asked = [word for agent in agents for word in ("--agent", agent)]
        lines = json.loads(self.call("replay", self.run(graph), "--buffer", buffer, "--policy", POLICY, *asked, "--guard",
                                     self.o.guard, "--log", log, "--force", "--json", "--quiet"))
        by_agent = {agent: [] for agent in agents}
        for text in log.read_text().splitlines():
            by_agent[json.loads(text)["agent"]].append(text)
        return {line["agent"]: self.outcome(line, by_agent[line["agent"]], log) for line in lines}

    def outcome(self, line, decisions, log):
        log.write_text("".join(text + "\n" for text in decisions))
        score, = json.loads(self.call("agent", "score", log, "--json"))
        log.unlink()
        latency = [json.loads(text)["latency"] for text in decisions]
        return {"excess": line["excess"], "regret": line["regret"], "decisions": score["decisions"],
                "rows": line["demand"] + line["replacement"] + line["ahead"],
                "label_accuracy": (score["label_accuracy"] or {}).get("share"),
                "latency": statistics.median(latency) if latency else None}


def share(value):
    return "" if value is None else f"{value:.3f}"


def signed(value):
    return "" if value is None else f"{100 * value:+.1f} %"


def cells(table, kind, graph, variant):
    """One line of the table."""
    test = table.report(kind, graph, variant)["test"]
    line = [f"`{kind}{',faithful' if variant == 'faithful' else ''}`", share(test["accuracy"]),
            share(test["balanced"]), share(test["label_accuracy"])]
    latency = []
    for buffer in BUFFERS:
        one = table.replays(graph, buffer)[kind, variant]
        line += [signed(one["excess"]), signed(one["regret"]), share(one["label_accuracy"])]
        latency.append(one["latency"])
    known = [value for value in latency if value is not None]
    return line + [f"{1e6 * statistics.mean(known):,.0f} us" if known else ""]


def head():
    names = ["agent", "accuracy", "balanced", "label accuracy"]
    for buffer in BUFFERS:
        at = f"{100 * float(buffer):.0f} %"
        names += [f"excess, {at}", f"regret, {at}", f"label accuracy, {at}"]
    return names + ["latency"]


def lines_of(table, graph):
    """The part of one graph: what a constant answer and the ceiling reach, then the classifiers."""
    names = head()
    yield f"\n**`{graph}`**, fitted to {', '.join(f'`{g}`' for g in table.o.graphs if g != graph)}:\n"
    yield "| " + " | ".join(names) + " |"
    yield "|" + " --- |" * len(names)
    for variant in VARIANTS:
        made = [cells(table, kind, graph, variant) for kind in table.o.kinds]
        test = table.report(table.o.kinds[0], graph, variant)["test"]
        empty = [""] * (len(names) - 3)
        yield f"| the more frequent answer, {variant} | {share(test['majority'])} | 0.500 | " + " | ".join(empty) + " |"
        for line in made:
            yield "| " + " | ".join(line) + " |"
        if table.o.no_ceiling:
            continue
        reached = share(table.ceiling(graph, variant))
        yield f"| ceiling, estimated, {variant} | | {reached} | " + " | ".join(empty) + " |"


def whole(table):
    asked = f"RUDDER DATA --out FILE --steps {table.o.steps} --stride {table.o.stride} --guard {table.o.guard}"
    yield f"`bench/steer/classifiers_table.py {asked}`, {datetime.date.today()}."
    for graph in table.o.missing:
        yield f"\n`{graph}` is not in the data folder and was left out."
    for graph in table.o.graphs:
        yield from lines_of(table, graph)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rudder")
    parser.add_argument("data")
    parser.add_argument("--out", required=True, help="Markdown file to write")
    parser.add_argument("--work", default="build/classifiers", help="folder of what is kept between calls")
    parser.add_argument("--steps", type=int, default=2000, help="steps of each run, at least")
    parser.add_argument("--stride", type=int, default=1, help="label one step in N")
    parser.add_argument("--seed", type=int, default=0, help="of the runs")
    parser.add_argument("--guard", default=NO_GUARD, help="of the replays: what an agent may cost")
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--no-ceiling", action="store_true", help="leave its estimate out, which fits all kinds to each host")
    options = parser.parse_args()
    there = [g for g in options.graphs if (pathlib.Path(options.data) / f"{g}.npz").exists()]
    options.missing = [g for g in options.graphs if g not in there]
    options.graphs = there
    for graph in options.missing:
        print(f"{graph}: left out: not in {options.data}", file=sys.stderr)
    if len(there) < 2:
        sys.exit(f"error: {options.data} has {len(there)} of the graphs, 2 are needed: one is fitted to, one tested")
    return options


def main():
    options = parse()
    table = Table(options)
    try:
        for graph in options.graphs:  # what takes longest first, so that a second call finds it
            table.samples(graph)
        text = "\n".join(whole(table)) + "\n"
    except Failed as failure:
        sys.exit(f"error: {failure}")
    pathlib.Path(options.out).write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
