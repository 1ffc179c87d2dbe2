"""CPU time of the Python side per batch: what a loader's batches cost beside the engine.

python3 bench/python/overhead.py PATH [--output numpy|torch|pyg] [--epochs 5]

The time of the calling thread alone counts, so that a busy machine changes little; the engine's threads are left out.
"""

import argparse
import statistics
import time

import rudder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--output", default="numpy")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    loader = rudder.NeighborLoader(options.path, [10, 5], options.batch, output=options.output, epochs=options.epochs)
    costs = []
    for _ in range(options.epochs):
        batches = iter(loader)
        while True:
            start = time.thread_time()
            if next(batches, None) is None:
                break
            costs.append(time.thread_time() - start)
    costs = costs[len(loader):]
    # A step gives the batches of all parts at once, so that single ones say little.
    print(f"{options.output}: {1e6 * statistics.fmean(costs):.0f} us of CPU per batch, {len(costs)} batches")


if __name__ == "__main__":
    main()
