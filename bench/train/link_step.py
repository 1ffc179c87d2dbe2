#!/usr/bin/env python3
"""Step time over a modelled link, 2 ranks, against what it cannot be below.

    bench/train/link_step.py RUDDER PARTS [ROUNDS [EPOCHS [BATCH]]]

RUDDER is the program, PARTS a partition of 2 parts. Sides take turns: `window:16`; the same with all rows
local (a buffer that holds every row it has seen; steps in which a rank still fetched over 0.5 % of its rows do not
count), whose gradients still cross the link; `none`. The wire time is that of the floor's bytes of one step. Asked: step time
of `window:16` at most 1.10 times the larger of the two.
"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LINK = "100us,1gbit"
BYTES_PER_SECOND = 125e6
SIDES = {
    "window:16": ["--policy", "window:16"],
    "all local": ["--policy", "lru", "--buffer", "4"],
    "none": ["--policy", "none"],
}


def run(program, parts, epochs, batch, extra):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [program, "train", parts, "--ranks", "2", "--link", LINK, "--batch", batch,
                   "--epochs", epochs, "--eval-every", "0", "--precision", "float32", "--json",
                   "--out", str(out), "--checkpoint-every", "0", *extra]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        summary = json.loads(done.stdout)
        steps = {}
        for line in (out / "metrics.jsonl").read_text().splitlines():
            record = json.loads(line)
            steps.setdefault(record["step"], []).append(record)
        return summary, steps


def step_seconds(summary, steps, quiet_only):
    """Median seconds of a step, those of the first epoch left out."""
    times = []
    phases = {}
    for step, ranks in steps.items():
        if step < summary["steps_per_epoch"]:
            continue
        if quiet_only and any(r["rows"]["demand"] > 0.005 * r["rows"]["needed"] for r in ranks):
            continue
        times.append(max(r["seconds"]["step"] for r in ranks))
        for key in ("stall", "compute", "reduce", "fetch"):
            phases.setdefault(key, []).append(max(r["seconds"][key] for r in ranks))
    if not times:
        sys.exit("every step fetched more than a few rows: give more epochs")
    return statistics.median(times), {k: statistics.median(v) for k, v in phases.items()}


def main():
    program, parts = sys.argv[1:3]
    rounds, epochs, batch = (sys.argv[3:] + ["5", "6", "500"][len(sys.argv) - 3:])[:3]
    results = {name: [] for name in SIDES}
    phases = {name: [] for name in SIDES}
    cpu = {name: [] for name in SIDES}
    ratios = []
    traced, _ = run(program, parts, epochs, batch, SIDES["window:16"] + ["--trace"])
    rows = traced["rows"]["floor"] / traced["steps"] / traced["ranks"]
    wire = rows * traced["row_bytes"] / BYTES_PER_SECOND
    for _ in range(int(rounds)):
        for name, extra in SIDES.items():
            summary, steps = run(program, parts, epochs, batch, extra)
            seconds, parts_of = step_seconds(summary, steps, name == "all local")
            results[name].append(seconds)
            phases[name].append(parts_of)
            cpu[name].append(summary["seconds"]["cpu"] / summary["steps"])
        ratios.append(results["window:16"][-1] / max(results["all local"][-1], wire))
    for name in SIDES:
        mid = {k: statistics.median(p[k] for p in phases[name]) * 1e3 for k in phases[name][0]}
        print(f"{name:<10} {statistics.median(results[name]) * 1e3:7.1f} ms per step "
              f"({min(results[name]) * 1e3:.1f} to {max(results[name]) * 1e3:.1f}); "
              f"CPU {statistics.median(cpu[name]) * 1e3:.1f} ms; "
              + ", ".join(f"{k} {v:.1f}" for k, v in mid.items()))
    print(f"wire time of the floor {wire * 1e3:.2f} ms per step")
    ratio = statistics.median(ratios)
    print(f"window:16 over the larger of all local and the wire: {ratio:.3f} "
          f"({min(ratios):.3f} to {max(ratios):.3f}), asked <= 1.10")


main()
