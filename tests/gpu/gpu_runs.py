#!/usr/bin/env python3
"""Whole runs of the program on a GPU: beside the CPU's, and again on other ranks, threads and policies.

    gpu_runs.py RUDDER [--work FOLDER] [--vertices 4000] [--device cuda]

Losses of every model, step by step, must be within 1e-5 (the first) and 1e-3 (up to the 50th) of the CPU's, relative to
them; digests of one model must be equal whatever runs beside it. Prints a line for each, and ends with 1 if one does not
hold.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

steps_held = 50


class Runs:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.failed = 0
        self.count = 0
        graph = os.path.join(folder, "graph")
        self.parts = os.path.join(folder, "parts")
        self.call("generate", "sbm", graph, "--vertices", str(options.vertices), "--classes", "8", "--features",
                  "planted:32", "--quiet")
        self.call("partition", graph, self.parts, "--parts", "4", "--quiet")

    def call(self, *words):
        done = subprocess.run([self.options.rudder, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"rudder {' '.join(words)} ended with {done.returncode}:\n{done.stderr}{done.stdout}")
        return done.stdout

    def train(self, device, *more):
        """The losses of the steps, the summary, and how long it took."""
        self.count += 1
        out = os.path.join(self.folder, f"run-{self.count}")
        begin = time.monotonic()
        text = self.call("train", self.parts, "--device", device, "--epochs", "3", "--eval-every", "0", "--out", out,
                         "--json", "--quiet", *more)
        seconds = time.monotonic() - begin
        losses = {}
        with open(os.path.join(out, "metrics.jsonl"), encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record["rank"] == 0:
                    losses[record["step"]] = record["loss"]
        shutil.rmtree(out)
        if device.startswith("cuda") and not json.loads(text)["gpu"]:
            sys.exit(f"--device {device} did not train on a GPU")
        return [losses[step] for step in sorted(losses)], json.loads(text), seconds

    def say(self, holds, text):
        self.failed += not holds
        print(("ok      " if holds else "FAILED  ") + text, flush=True)

    def beside_the_cpu(self, model):
        ours, summary, seconds = self.train(self.options.device, "--model", model)
        theirs, _, others = self.train("cpu", "--model", model)
        off = [abs(a - b) / abs(b) for a, b in zip(ours, theirs)][:steps_held]
        holds = len(ours) == len(theirs) and len(off) == steps_held and off[0] <= 1e-5 and max(off) <= 1e-3
        self.say(holds, f"{model}: the first loss differs by {off[0]:.1e} of it, {len(off)} by at most {max(off):.1e}; "
                        f"{seconds:.1f} s, the CPU {others:.1f} s; {summary['gpu']['device'] if summary.get('gpu') else 'no GPU'}")

    def again(self, model, ways):
        wanted = None
        for way in ways:
            _, summary, _ = self.train(self.options.device, "--model", model, *way)
            digest = summary["loss"]["digest"]
            wanted = wanted or digest
            gpu = summary.get("gpu") or {}
            self.say(digest == wanted, f"{model} {' '.join(way) or 'again'}: digest {digest}; kernels "
                                       f"{gpu.get('kernel_seconds', 0):.2f} s, uploads {gpu.get('upload_seconds', 0):.2f} s, waited "
                                       f"{gpu.get('waiting_seconds', 0):.2f} s, {gpu.get('staged', 0)} passes staged")

    def refusals(self):
        for words, why in ((("--device", "cuda:1000"), "no such GPU"),
                           (("--device", "cuda", "--edge-features"), "features of edges"),
                           (("--device", "gpu"), "no such device")):
            done = subprocess.run([self.options.rudder, "train", self.parts, *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            said = done.stdout.strip().splitlines()
            self.say(done.returncode == 2, f"{' '.join(words)} ({why}) ends with {done.returncode}: {said[0] if said else ''}")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("rudder")
    words.add_argument("--work")
    words.add_argument("--vertices", type=int, default=4000)
    words.add_argument("--device", default="cuda")
    options = words.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        runs = Runs(options, folder)
        for model in ("sage", "gcn", "gat", "gatv2"):
            runs.beside_the_cpu(model)
        runs.again("sage", [(), (), ("--threads", "1"), ("--threads", "3"), ("--in-flight", "5"),
                            ("--policy", "lru", "--buffer", "0.1"), ("--ranks", "2"), ("--ranks", "4", "--policy", "none")])
        runs.again("gatv2", [(), ("--threads", "2"), ("--ranks", "4")])
        if options.device != "cpu":
            runs.refusals()
    sys.exit(1 if runs.failed else 0)


if __name__ == "__main__":
    main()
