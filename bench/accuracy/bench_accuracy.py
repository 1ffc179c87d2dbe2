#!/usr/bin/env python3
"""Accuracy of samplers and precisions on the real graphs, beside what they fetch.

    bench/accuracy/bench_accuracy.py --rudder build/release/src/cli/rudder --data ../shared/data

Trains SAGE, GCN and GAT on Debian, Amazon Computers, GitHub, Physics and npm (whose rows, made from
its structure, are the only floats among them), each in 4 parts, with every variant and five seeds, in
one process per run (results do not depend on ranks or threads), --jobs of them at a time, and prints
the tables of docs/accuracy.md: test accuracy at the best validation epoch, mean and standard error,
the difference from plain draws in float32, and what one epoch of SAGE fetches on 4 hosts over what
plain draws fetch. Accuracy at equal bytes is that of plain draws after the share of epochs in which
they fetch what the variant fetches in all of them.

Results are kept in --work, one file per run: a second call goes on where the first was stopped.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import shutil
import subprocess
import sys

GRAPHS = {
    "debian_bookworm": "--hidden 64 --lr 0.005 --fanout 10,25 --batch 250 --epochs 20",
    "amazon_cs": "--hidden 64 --lr 0.01 --fanout 10,25 --batch 125 --epochs 12",
    "musae_github": "--hidden 64 --lr 0.005 --fanout 10,25 --batch 250 --epochs 4",
    "coauthor_phy": "--hidden 64 --lr 0.01 --fanout 10,25 --batch 250 --epochs 4",
    "npm_deps": "--hidden 64 --lr 0.005 --fanout 10,25 --batch 500 --epochs 10",
}
IMPORT = {"debian_bookworm": [], "npm_deps": ["--features", "structure:100"]}
COMMON = "--input-dropout 0.2 --dropout 0.5 --eval-every 1 --threads 1"
SHARED = "--sampler shared --redraw"
VARIANTS = {
    "plain": "--sampler plain",
    "shared, redraw 1": f"{SHARED} 1",
    "shared, redraw 8": f"{SHARED} 8",
    "shared, redraw 32": f"{SHARED} 32",
    "the default": "",
    "clustered": "--sampler plain --seed-order clustered",
    "int8": "--sampler plain --precision int8",
    "int4": "--sampler plain --precision int4",
    "shared, redraw 32, int8": f"{SHARED} 32 --precision int8",
    "shared, redraw 32, int4": f"{SHARED} 32 --precision int4",
}
# Rows stored in 8 bits, which int8 leaves as they are, and sparse ones, exact in any precision.
EXACT = {"debian_bookworm": ["int8"], "amazon_cs": ["int8"],
         "musae_github": ["int8", "int4"], "coauthor_phy": ["int8", "int4"]}
MODELS = ["sage", "gcn", "gat"]
FETCH = ("--ranks 4 --link 1us,100gbit --policy window:16 --buffer 0.25 --agent never --epochs 3 "
         "--eval-every 0 --hidden 16")


class Bench:
    def __init__(self, options):
        self.rudder = str(pathlib.Path(options.rudder).resolve())
        self.data = pathlib.Path(options.data)
        self.work = pathlib.Path(options.work)
        self.seeds = range(options.seeds)
        self.results = self.work / "results"
        self.results.mkdir(parents=True, exist_ok=True)

    def call(self, *words):
        done = subprocess.run([self.rudder, *words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(done.args)}\n{done.stderr}")
        return done.stdout

    def parts(self, graph):
        folder = self.work / f"{graph}-4"
        if not folder.exists():
            whole = self.work / graph
            shutil.rmtree(whole, ignore_errors=True)
            words = IMPORT.get(graph, ["--row-normalise"])
            self.call("import", str(self.data / f"{graph}.npz"), str(whole), *words, "--quiet")
            self.call("partition", str(whole), str(folder), "--parts", "4", "--quiet")
        return str(folder)

    def kept(self, name, make):
        path = self.results / f"{name}.json"
        if not path.exists():
            value = make()
            part = path.with_suffix(".part")
            part.write_text(json.dumps(value))
            part.rename(path)
        return json.loads(path.read_text())

    def train(self, graph, model, variant, seed):
        def make():
            out = self.work / f"run-{graph}-{model}-{slug(variant)}-{seed}"
            shutil.rmtree(out, ignore_errors=True)
            words = f"{COMMON} {GRAPHS[graph]} {VARIANTS[variant]}".split()
            heads = ["--heads", "2"] if model == "gat" else []
            self.call("train", self.parts(graph), "--model", model, "--seed", str(seed), "--quiet",
                      "--out", str(out), *words, *heads)
            epochs = [json.loads(line) for line in open(out / "epochs.jsonl")]
            shutil.rmtree(out)
            return [[e["accuracy"]["valid"], e["accuracy"]["test"]] for e in epochs]
        return self.kept(f"{graph}.{model}.{slug(variant)}.{seed}", make)

    def fetched(self, graph, variant):
        def make():
            words = GRAPHS[graph].split()
            batch = words[words.index("--batch") + 1]
            words = f"{FETCH} --fanout 10,25 --batch {batch} {VARIANTS[variant]}".split()
            summary = json.loads(self.call("train", self.parts(graph), *words, "--quiet", "--json"))
            return summary["bytes"]["features"] + summary["bytes"]["requests"]
        return self.kept(f"bytes.{graph}.{slug(variant)}", make)


def slug(variant):
    return variant.replace(", ", "_").replace(" ", "")


def best(epochs, last=None):
    """Test accuracy at the best validation epoch, in percent."""
    return 100 * max(epochs[:last], key=lambda e: e[0])[1]


def mean_error(values):
    mean = sum(values) / len(values)
    spread = sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1)
    return mean, math.sqrt(spread / len(values))


def table(bench, graph, models):
    """Variants by line; by model the accuracy, its distance from plain's, plain's at equal bytes."""
    print(f"\n| {graph} | bytes over plain |" +
          "".join(f" {m.upper()} | over plain | plain at equal bytes |" for m in models))
    print("| --- |" + " --- |" * (1 + 3 * len(models)))
    plain = {m: [bench.train(graph, m, "plain", s) for s in bench.seeds] for m in models}
    for variant in variants(graph):
        share = bench.fetched(graph, variant) / bench.fetched(graph, "plain")
        line = f"| {variant} | {share:.3f} |"
        for model in models:
            base, _ = mean_error([best(epochs) for epochs in plain[model]])
            runs = [bench.train(graph, model, variant, s) for s in bench.seeds]
            mean, error = mean_error([best(epochs) for epochs in runs])
            last = max(1, round(share * len(plain[model][0])))
            equal, _ = mean_error([best(epochs, last) for epochs in plain[model]])
            line += f" {mean:.2f} +- {error:.2f} | {mean - base:+.2f} | {equal:.2f} |"
        print(line, flush=True)


def variants(graph):
    """Those that differ: rows may be exact anyway, and in long epochs the default is redraw 32."""
    same = EXACT.get(graph, []) + (["the default"] if graph == "debian_bookworm" else [])
    return [v for v in VARIANTS if not any(v.endswith(name) for name in same)]


def run_all(bench, options):
    """Every run the table needs, several at a time, the longest (GAT) first."""
    for graph in options.graphs:
        bench.parts(graph)
    runs = [(bench.train, graph, model, variant, seed)
            for model in reversed(options.models) for graph in options.graphs
            for variant in variants(graph) for seed in bench.seeds]
    runs += [(bench.fetched, graph, variant) for graph in options.graphs for variant in variants(graph)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in [pool.submit(*run) for run in runs]:
            done.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rudder", default="build/release/src/cli/rudder")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--work", default="build/accuracy")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--models", nargs="*", default=MODELS)
    options = parser.parse_args()
    bench = Bench(options)
    absent = [graph for graph in options.graphs if not (bench.data / f"{graph}.npz").exists()]
    for graph in absent:
        print(f"{graph}: skipped: not in {bench.data}", file=sys.stderr)
    options.graphs = [graph for graph in options.graphs if graph not in absent]
    run_all(bench, options)
    for graph in options.graphs:
        table(bench, graph, options.models)


if __name__ == "__main__":
    main()
