"""Trains one model of each size at the same time, compares them, and says which is the smallest within 1 % of the best.

    sizes.py OUT [--sizes 0.3 1 2 5] [-- OPTION...]     OPTIONs are train.py's; the models are OUT/size-0.3 and so on

Within 1 %: of the best share of made-up worlds in which the best action is chosen, and of the lowest cost on collected decisions
of graphs that were held out, where there are any.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MARGIN = 0.01


def folder(out, size):
    return os.path.join(out, f"size-{size}")


def trained(out, sizes, options):
    """All of them side by side; each leaves its own log. Those that ended well."""
    running = {}
    for size in sizes:
        os.makedirs(folder(out, size), exist_ok=True)
        with open(os.path.join(folder(out, size), "log"), "w", encoding="utf-8") as log:
            running[size] = subprocess.Popen([sys.executable, os.path.join(HERE, "train.py"), folder(out, size), "--size", size, *options],
                                             stdout=log, stderr=subprocess.STDOUT)
    return [size for size, process in running.items() if process.wait() == 0]


def record(out, size):
    with open(os.path.join(folder(out, size), "training.json"), encoding="utf-8") as file:
        return json.load(file)


def figures(made):
    """What sizes are compared by: the share chosen, and the cost over the best (None without collected decisions)."""
    scores = made["scores"]
    held = scores["held-out graphs"]
    return scores["unseen names"]["all"]["chosen"], 1 + held["over the best"] if held else None


def smallest_within(found):
    """Of sizes in ascending order with their figures: the first within 1 % of the best in both."""
    most = max(chosen for chosen, _ in found.values())
    costs = [cost for _, cost in found.values() if cost is not None]
    for size, (chosen, cost) in found.items():
        if chosen >= (1 - MARGIN) * most and (cost is None or cost <= (1 + MARGIN) * min(costs)):
            return size
    return max(found, key=lambda size: found[size][0])


def shown(value):
    return "" if value is None else f"{value:.3f}"


def lines(records):
    yield ("| size | parameters | steps | chosen | written | without history | decisions | no worse than keeping | cost over the best | "
           "best chosen where it saves over 2 % | yes or no, balanced | the same, names changed about |")
    yield "|" + " --- |" * 12
    for size, made in records.items():
        scores = made["scores"]
        names, bare = scores["unseen names"]["all"], scores["unseen names, without history"]["all"]
        held, moved = (scores[f"held-out graphs{more}"] or {} for more in ("", ", names changed about"))
        over = held.get("over the best")
        yield (f"| {size} | {made['parameters']:,} | {made['steps']:,} | {names['chosen']:.3f} | {names['written']:.3f} | {bare['chosen']:.3f} | "
               f"{held.get('decisions', 0):,} | {shown(held.get('no worse than keep'))} | {shown(None if over is None else 1 + over)} | "
               f"{shown(held.get('best chosen of these'))} | {shown(held.get('balanced'))} | {shown(moved.get('best chosen of these'))} |")


def main():
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--sizes", nargs="*", default=["0.3", "1", "2", "5"])
    options = parser.parse_args(words[:at])
    sizes = sorted(options.sizes, key=float)
    good = trained(options.out, sizes, words[at + 1 :])
    for size in sizes:
        if size not in good:
            print(f"size {size} was not trained; {folder(options.out, size)}/log says why", file=sys.stderr)
    records = {size: record(options.out, size) for size in good}
    if not records:
        sys.exit(1)
    table = "\n".join(lines(records)) + f"\n\nthe smallest within 1 % of the best: {smallest_within({s: figures(r) for s, r in records.items()})}\n"
    with open(os.path.join(options.out, "sizes.md"), "w", encoding="utf-8") as out:
        out.write(table)
    print(table)
    sys.exit(0 if len(good) == len(sizes) else 1)


if __name__ == "__main__":
    main()
