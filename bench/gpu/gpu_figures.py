#!/usr/bin/env python3
"""Epochs on a GPU beside those on all cores of the same machine, on a products-sized graph.

    bench/gpu/gpu_figures.py --rudder build/release/src/cli/rudder [--scale 1.0] [--work /tmp/gpu] [--models sage,gat]

Makes the graph (2.4 M vertices, 125 M stored edges at --scale 1), divides it into one part, and trains two epochs on each
device; prints the shorter epoch of each, their ratio, and how far the losses are apart. Also trains data sets given with --data
(NPZ archives) on both devices and prints the accuracies.
"""

import argparse
import json
import os
import subprocess
import sys
import time


def run(words, **more):
    begin = time.monotonic()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}{done.stdout}")
    return done.stdout, time.monotonic() - begin


def train(options, parts, device, epochs, more=()):
    words = [options.rudder, "train", parts, "--device", device, "--epochs", str(epochs), "--json", *more]
    text, _ = run(words)
    return json.loads(text)


def prepare(options, name, make):
    parts = os.path.join(options.work, name + "-parts")
    if not os.path.exists(parts):
        whole = os.path.join(options.work, name)
        if not os.path.exists(whole):
            _, seconds = run(make(whole))
            print(f"{name}: made in {seconds:.1f} s", flush=True)
        run([options.rudder, "partition", whole, parts, "--parts", "1"])
    return parts


def compare_epochs(options):
    parts = prepare(options, f"products-{options.scale}",
                    lambda out: [options.rudder, "generate", "like:products", out, "--scale", str(options.scale)])
    for model in options.models.split(","):
        more = ["--model", model, "--batch", "1024", "--fanout", "10,25", "--eval-every", "0"]
        results = {device: train(options, parts, device, 2, more) for device in ("cuda", "cpu")}
        seconds = {device: result["seconds"]["epoch"] for device, result in results.items()}
        losses = {device: result["loss"] for device, result in results.items()}
        first = abs(losses["cuda"]["first"] - losses["cpu"]["first"]) / losses["cpu"]["first"]
        print(f"{model}: epoch {seconds['cuda']:.2f} s on the GPU, {seconds['cpu']:.2f} s on {os.cpu_count()} cores: "
              f"{seconds['cuda'] / seconds['cpu']:.3f} (to reach 0.15); the first loss differs by {first:.1e}", flush=True)
        again = train(options, parts, "cuda", 1, more)["loss"]["digest"]
        same = train(options, parts, "cuda", 1, more)["loss"]["digest"]
        print(f"  digest of an epoch's losses: {again}, again {same}", flush=True)


def compare_accuracy(options):
    for archive in options.data:
        name = os.path.splitext(os.path.basename(archive))[0]
        parts = prepare(options, name, lambda out: [options.rudder, "import", archive, out])
        for model in ("sage", "gcn", "gat", "gatv2"):
            scores = {device: train(options, parts, device, options.epochs, ["--model", model])["accuracy"]["test"]
                      for device in ("cuda", "cpu")}
            print(f"{name} {model}: test accuracy {scores['cuda']:.4f} on the GPU, {scores['cpu']:.4f} on the CPU "
                  f"({abs(scores['cuda'] - scores['cpu']) * 100:.2f} points apart, at most 0.3)", flush=True)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rudder", required=True)
    words.add_argument("--scale", type=float, default=1.0)
    words.add_argument("--work", default="/tmp/gpu-figures")
    words.add_argument("--models", default="sage")
    words.add_argument("--data", nargs="*", default=[])
    words.add_argument("--epochs", type=int, default=10)
    options = words.parse_args()
    os.makedirs(options.work, exist_ok=True)
    compare_accuracy(options)
    compare_epochs(options)


if __name__ == "__main__":
    main()
