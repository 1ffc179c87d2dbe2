#!/usr/bin/env python3
"""Yes or no of the built-in language model, beside the six classifiers: balanced accuracy on graphs that none of them learned from.

    yes_no_table.py RUDDER BENCH WORK [--stride 16] [--permute SEED]

WORK is the folder of classifiers_table.py: its runs are what questions are collected on (`agent collect --for llm`, policy
scored-faithful, buffers of 5 and 25 %), and its reports hold the balanced accuracy of classifiers that were fitted to the
other graphs. BENCH is bench_steer_decisions. The label is the same for all: whether replacing fetches fewer rows than
keeping. A second table says what the model chooses where it may choose any action: with the names as they are, and
with --permute (default 1) changed about.
"""
import argparse
import json
import pathlib
import subprocess
import sys

BUFFERS = ["0.05", "0.25"]
POLICY = "scored-faithful"
KINDS = ["lr", "svm", "rf", "xgb", "mlp", "tabnet"]


def call(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def shown(value):
    return "" if value is None else f"{value:.3f}"


class Table:
    def __init__(self, options):
        self.o = options
        self.work = pathlib.Path(options.work)

    def graphs(self):
        found = sorted(path.name.removeprefix("run-") for path in self.work.glob("run-*"))
        if not found:
            sys.exit(f"error: {self.work} holds no run-GRAPH\n  let classifiers_table.py make it")
        return found

    def questions(self, graph):
        """Collected once, by buffer."""
        files = []
        for buffer in BUFFERS:
            out = self.work / f"questions-{graph}-{buffer}-{self.o.stride}"
            if not pathlib.Path(f"{out}.jsonl").exists():
                call(self.o.rudder, "agent", "collect", "--for", "llm", f"{graph}={self.work / f'run-{graph}'}", "--policy", POLICY,
                     "--buffer", buffer, "--stride", self.o.stride, "--out", out, "--force", "--quiet")
            files.append(f"{out}.jsonl")
        return files

    def answers(self, graph, *words):
        return json.loads(call(self.o.bench, *words, *self.questions(graph)))

    def classifier(self, graph, variant, kind):
        path = self.work / "results" / f"fit.{graph}.{variant}.{kind}.json"
        return json.loads(path.read_text())["test"]["balanced"] if path.exists() else None

    def best_classifier(self, graph):
        found = [(value, kind + (",faithful" if variant == "faithful" else "")) for variant in ("repaired", "faithful")
                 for kind in KINDS if (value := self.classifier(graph, variant, kind)) is not None]
        return max(found, default=(None, ""))

    def lines(self):
        yield "| graph | questions | yes is right | `llm:built-in` | best classifier | " + " | ".join(f"`{k}`" for k in KINDS) + " |"
        yield "|" + " --- |" * (5 + len(KINDS))
        for graph in self.graphs():
            found = self.answers(graph, "--yes-no")
            value, name = self.best_classifier(graph)
            labels = found["labels"]
            all_labels = labels["yes"] + labels["no"]
            cells = [graph, f"{found['decisions']:,}", f"{labels['yes'] / all_labels:.1%}" if all_labels else "", shown(found["balanced"]),
                     f"{shown(value)} (`{name}`)" if name else "", *(shown(self.classifier(graph, "repaired", kind)) for kind in KINDS)]
            yield "| " + " | ".join(cells) + " |"
        yield ""
        yield "| graph | names | questions | no worse than keeping | rows over the best action | keeping over it | best action chosen, where it saves over 2 % |"
        yield "|" + " --- |" * 7
        for graph in self.graphs():
            for names, words in (("as they are", []), ("changed about", ["--permute", self.o.permute])):
                found = self.answers(graph, *words)
                cells = [graph, names, f"{found['decisions']:,}", shown(found["no_worse"]), shown(found["over_the_best"]),
                         shown(found["keep_over_the_best"]), f"{shown(found['best_chosen'])} of {found['telling']:,}"]
                yield "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rudder")
    parser.add_argument("bench")
    parser.add_argument("work")
    parser.add_argument("--stride", type=int, default=16, help="one question in so many is collected")
    parser.add_argument("--permute", type=int, default=1, help="seed of the names that change places")
    for line in Table(parser.parse_args()).lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
