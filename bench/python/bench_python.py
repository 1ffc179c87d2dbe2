"""Epochs of the same model on our loader and on PyG's, by the clock, in turns: for a quiet machine.

python3 bench/python/bench_python.py PARTS --graph GRAPH.npz --python ENV/bin/python [--ranks 4] [--rounds 3]

PARTS are parts of the data set that GRAPH.npz is of, as many as ranks. The environment has PyTorch, PyTorch Geometric, the package
rudder, and pyg-lib or torch-sparse, which PyG's loader needs (`make bench-peers BENCH_OPTIONS=--build-pyg` makes one). With
--link the rows of both travel over a modelled link (RUDDER_LINK): PyG's side sleeps for as long as its exchanges of ids and rows
would take. Gradients pay on neither side. DistDGL's side is that of `make bench-peers`.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))


def train(side, options):
    """Seconds and CPU seconds of the epochs after the first."""
    environment = dict(os.environ, RUDDER_RANKS_PER_HOST="1")
    if options.link:
        environment["RUDDER_LINK"] = options.link
    command = [options.python, "-m", "torch.distributed.run", "--nproc-per-node", str(options.ranks),
               os.path.join(here, "train_side.py"), side, options.parts, "--graph", options.graph, "--fanout",
               options.fanout, "--hidden", str(options.hidden), "--batch", str(options.batch), "--epochs",
               str(options.epochs), "--workers", str(options.workers)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    epochs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(epochs) < 2:
        problem = [line for line in done.stderr.splitlines() if "Error" in line] or ["it told of too few epochs"]
        raise SystemExit(f"{side} did not run: {problem[0]}")
    return epochs[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts")
    parser.add_argument("--graph", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--sides", default="rudder,pyg")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fanout", default="10,25")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=0, help="of PyG's loader, on one process")
    parser.add_argument("--link", default="")
    options = parser.parse_args()
    sides = options.sides.split(",")
    found = {side: [] for side in sides}
    for turn in range(options.rounds):
        for side in sides if turn % 2 == 0 else sides[::-1]:
            found[side] += train(side, options)
    print(f"{platform.processor() or platform.machine()}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; "
          f"{options.ranks} processes, hidden {options.hidden}, {options.rounds} rounds")
    print("| side | epoch s | least | most | cpu s of rank 0 | of the last side |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    last = statistics.median(epoch["seconds"] for epoch in found[sides[-1]])
    for side in sides:
        seconds = sorted(epoch["seconds"] for epoch in found[side])
        middle = statistics.median(seconds)
        used = statistics.median(epoch["cpu"] for epoch in found[side])
        print(f"| {side} | {middle:.3f} | {seconds[0]:.3f} | {seconds[-1]:.3f} | {used:.3f} | {middle / last:.2f} |")


if __name__ == "__main__":
    main()
