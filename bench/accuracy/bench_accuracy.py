#!/usr/bin/env python3
"""Accuracy of samplers and precisions on the real graphs, beside what they fetch.

    bench/accuracy/bench_accuracy.py --rudder build/release/src/cli/rudder --data ../shared/data

Trains SAGE, GCN and GAT on Debian, Amazon Computers, GitHub, Physics and npm (whose rows, made from its
structure, are the only floats among them), each in 4 parts, with every variant and five seeds, in one process per run (results do not depend on ranks or threads), and prints
the tables of docs/accuracy.md: test accuracy at the best validation epoch, mean and standard error,
the difference from plain draws in float32, and what one epoch of SAGE fetches on 4 hosts over what
plain draws fetch. Accuracy at equal bytes is that of plain draws after the share of epochs in which
they fetch what the variant fetches in all of them.

Results are kept in --work, one file per run: a second call goes on where the first was stopped.
"""
import argparse
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
    "plain": "",
    "shared, redraw 1": f"{SHARED} 1",
    "shared, redraw 8": f"{SHARED} 8",
    "shared, redraw 32": f"{SHARED} 32",
    "int8": "--precision int8",
    "int4": "--precision int4",
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
            out = self.work / f"run-{graph}-{model}-{seed}"
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rudder", default="build/release/src/cli/rudder")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--work", default="build/accuracy")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--models", nargs="*", default=MODELS)
    options = parser.parse_args()
    bench = Bench(options)
    print("| graph | model | variant | test accuracy | over plain | bytes over plain | "
          "plain at equal bytes |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for graph in options.graphs:
        if not (bench.data / f"{graph}.npz").exists():
            print(f"| {graph} | skipped: not in {bench.data} | | | | | |")
            continue
        exact = EXACT.get(graph, [])
        variants = [v for v in VARIANTS if not any(v.endswith(name) for name in exact)]
        for model in options.models:
            plain = [bench.train(graph, model, "plain", s) for s in bench.seeds]
            base, _ = mean_error([best(epochs) for epochs in plain])
            for variant in variants:
                runs = [bench.train(graph, model, variant, s) for s in bench.seeds]
                mean, error = mean_error([best(epochs) for epochs in runs])
                share = bench.fetched(graph, variant) / bench.fetched(graph, "plain")
                last = max(1, round(share * len(plain[0])))
                equal, _ = mean_error([best(epochs, last) for epochs in plain])
                print(f"| {graph} | {model} | {variant} | {mean:.2f} +- {error:.2f} | "
                      f"{mean - base:+.2f} | {share:.3f} | {equal:.2f} |", flush=True)


if __name__ == "__main__":
    main()
