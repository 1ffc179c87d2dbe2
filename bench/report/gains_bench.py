"""What `rudder explain` predicts for a planted cause beside what the mended run gains, wherever the mend is an option.

    gains_bench.py RUDDER [--times 5] [--only CAUSE]

Each cause is planted in a run of its own on two ranks of this machine with a modelled link. Planted and mended run take turns, and the
mend changes what the finding says, nothing else. `measured` is 1 - mended / planted of the medians of `seconds.total`, `predicted` the
median of the gains that explain gives the cause in the planted runs. Of too few steps per epoch the gain is of what passes between
steps: `measured` is what of that is gone after as many steps in fewer epochs, over the planted run's time. One host costs no time.
The last line is of runs in which nothing is planted: what was found there.
"""
import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import tempfile

COMMON = ["--hidden", "64", "--fanout", "5,10", "--sampler", "plain", "--agent", "never", "--eval-every", "0", "--seed", "1",
          "--checkpoint-every", "0", "--no-tensorboard", "--quiet", "--force"]
TWO = ["--ranks", "2", "--ranks-per-host", "1", "--threads", "1"]


def cause(name, data, shared, planted, mended, mended_data=None, of="total"):
    return {"name": name, "data": [data, mended_data or data], "options": [shared + planted, shared + mended], "of": of}


CAUSES = [
    cause("slow link", "parts", TWO + ["--policy", "window:16", "--batch", "200", "--epochs", "4"],
          ["--link", "100us,50mbit"], ["--link", "100us,500mbit"]),
    cause("one slow host", "parts", TWO + ["--link", "100us,1gbit", "--batch", "200", "--epochs", "12"], ["--slow", "1:4"], []),
    cause("skewed parts", "skewed", TWO + ["--link", "100us,10gbit", "--batch", "200", "--hidden", "256", "--epochs", "6"], [], [], "even"),
    # Of a link that is slow to answer, not narrow: a buffer would not help as much.
    cause("no look-ahead", "parts", TWO + ["--link", "2ms,5gbit", "--batch", "200", "--epochs", "4"],
          ["--policy", "none", "--in-flight", "1"], ["--policy", "none", "--in-flight", "2"]),
    cause("no buffer", "parts", TWO + ["--link", "100us,100mbit", "--batch", "200", "--epochs", "4"],
          ["--policy", "none"], ["--policy", "window:16", "--buffer", "0.25"]),
    cause("one thread", "parts", ["--ranks", "1", "--batch", "500", "--hidden", "256", "--epochs", "20"],
          ["--threads", "1"], ["--threads", "2"]),
    cause("evaluation each step", "parts", TWO + ["--link", "100us,1gbit", "--batch", "1000000", "--epochs", "60"],
          ["--eval-every", "1"], ["--eval-every", "10"]),
    cause("tiny batches", "parts", TWO + ["--link", "100us,1gbit", "--policy", "window:16", "--epochs", "3"],
          ["--batch", "8"], ["--batch", "advised"]),
    cause("too few steps per epoch", "parts", TWO + ["--link", "100us,1gbit", "--policy", "window:16"],
          ["--batch", "1000000", "--epochs", "60"], ["--batch", "advised", "--epochs", "3"], of="between"),
    cause("one host", "parts", ["--ranks", "2", "--threads", "1", "--batch", "200", "--epochs", "12"], [], ["--ranks-per-host", "1"]),
]

HEALTHY = TWO + ["--link", "100us,10gbit", "--policy", "window:16", "--batch", "200", "--hidden", "256", "--epochs", "6"]


def make_data(rudder):
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    vertices = 16000
    subprocess.run([rudder, "generate", "sbm", "graph", "--vertices", str(vertices), "--quiet"], **quiet)
    subprocess.run([rudder, "partition", "graph", "parts", "--parts", "2", "--method", "ldg", "--quiet"], **quiet)
    for name, parts in zip(("skewed", "even"), assignments(rudder)):
        with open("assignment.txt", "w") as file:
            file.write("".join(f"{part}\n" for part in parts))
        subprocess.run([rudder, "partition", "graph", name, "--parts", "2", "--assignment", "assignment.txt", "--quiet"], **quiet)


def table(rudder, name, columns):
    """Columns of a table of the graph."""
    subprocess.run([rudder, "export", "graph", name + ".csv", "--table", name, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    with open(name + ".csv") as file:
        return [[row[column] for column in columns] for row in csv.DictReader(file)]


def assignments(rudder):
    """Three quarters of the vertices in one part, at random; and halves that cut as many edges: nothing but the sizes differs.

    A vertex goes to the half of its class with a chance that is sought, else to any.
    """
    edges = [(int(a), int(b)) for a, b in table(rudder, "edges", ["source", "target"])]
    labels = [label for _, label in sorted((int(v), label) for v, label in table(rudder, "vertices", ["id", "label"]))]
    classes = {label: i for i, label in enumerate(sorted(set(labels)))}
    draw = random.Random(1)
    chances = [(draw.random(), draw.random()) for _ in labels]

    def cut(parts):
        return sum(parts[a] != parts[b] for a, b in edges) / len(edges)

    def halves(chance):
        return [classes[label] % 2 if first < chance else int(second < 0.5) for label, (first, second) in zip(labels, chances)]

    skewed = [int(second >= 0.75) for _, second in chances]
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if cut(halves(middle)) > cut(skewed) else (low, middle)
    even = halves(high)
    if abs(cut(even) - cut(skewed)) > 0.01:
        raise SystemExit(f"no halves with as many cut edges: {cut(even):.3f} instead of {cut(skewed):.3f}")
    return skewed, even


def merged(words):
    """Each option once, as it was given last."""
    given, last = {}, ""
    for word in words:
        if word.startswith("--"):
            given[word], last = [], word
        else:
            given[last] = [word]
    return [word for option, values in given.items() for word in [option, *values]]


def train(rudder, data, options):
    """Seconds of the run, and those that pass between its steps."""
    said = subprocess.check_output([rudder, "train", data, *merged(COMMON + options), "--out", "run", "--json"],
                                   stderr=subprocess.DEVNULL)
    run = json.loads(said)
    seconds = run["seconds"]
    return {"total": seconds["total"], "between": seconds["total"] - seconds["step"] / run["ranks"] - seconds["evaluation"]}


def explain(rudder, name):
    """The gain of a cause, its place among the findings, and what is advised."""
    found = json.loads(subprocess.check_output([rudder, "explain", "run", "--json"]))["findings"]
    for place, one in enumerate(found, 1):
        if one["cause"] == name:
            return one["gain"], place, one["change"]
    return None, 0, ""


def bench(rudder, one, times):
    totals, gains, places, advised = ([], []), [], [], ""
    for _ in range(times):
        totals[0].append(train(rudder, one["data"][0], one["options"][0]))
        gain, place, change = explain(rudder, one["name"])
        if place:
            gains.append(gain or 0)
            advised = change.split()[1].rstrip(":") if change.startswith("--batch") else advised
        places.append(place)
        mended = [advised or "100" if word == "advised" else word for word in one["options"][1]]
        totals[1].append(train(rudder, one["data"][1], mended))
    def middle(runs, key):
        return statistics.median(run[key] for run in runs)

    planted, mended = (middle(runs, "total") for runs in totals)
    measured = (middle(totals[0], one["of"]) - middle(totals[1], one["of"])) / planted
    predicted = f"{100 * statistics.median(gains):.0f} %" if gains else "not found"
    spread = max(max(run["total"] for run in runs) / min(run["total"] for run in runs) for runs in totals)
    print(f"| {one['name']} | {predicted} | {100 * measured:.0f} % | {statistics.median_low(places)} | "
          f"{planted:.2f} s | {mended:.2f} s | {spread:.2f} |", flush=True)


def bench_healthy(rudder, times):
    found = []
    for _ in range(times):
        train(rudder, "parts", HEALTHY)
        findings = json.loads(subprocess.check_output([rudder, "explain", "run", "--json"]))["findings"]
        found.append(", ".join(one["cause"] for one in findings) or "nothing")
    print(f"\nNothing planted, found in {times} runs: {'; '.join(found)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rudder")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", default="")
    o = parser.parse_args()
    rudder = os.path.abspath(o.rudder)
    with tempfile.TemporaryDirectory(prefix="rudder-gains-") as here:
        os.chdir(here)
        make_data(rudder)
        print("| cause | predicted | measured | place | planted | mended | longest / shortest |\n" + "| --- " * 7 + "|")
        for one in CAUSES:
            if o.only in one["name"]:
                bench(rudder, one, o.times)
        if o.only in "healthy":
            bench_healthy(rudder, o.times)
        os.chdir("/")


main()
