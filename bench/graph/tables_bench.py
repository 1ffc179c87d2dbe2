#!/usr/bin/env python3
"""Import of tables: edges per second and memory, for CSV and, where the build reads it, Parquet.

    bench/graph/tables_bench.py [--edges 20000000] [--vertices 1000000] [--columns 32] [--rudder PATH] [--folder DIR]

Makes a table of vertices with text ids and columns of numbers, and one of edges; imports both, and prints for each format the
seconds, the edges per second over the whole import, the peak of memory and that of the result on disk. The tables are kept in
the folder and used again. Needs NumPy; Parquet needs pyarrow.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np


def make_tables(folder, vertices, edges, columns):
    """nodes.csv and edges.csv, unless they are there."""
    nodes, pairs = folder / "nodes.csv", folder / "edges.csv"
    if nodes.exists() and pairs.exists():
        return
    random = np.random.default_rng(1)
    names = [f"user-{v:08x}" for v in random.permutation(vertices)]
    with open(nodes, "w") as out:
        out.write("id," + ",".join(f"x{i}" for i in range(columns)) + ",label\n")
        for first in range(0, vertices, 10000):
            rows = random.standard_normal((min(10000, vertices - first), columns))
            labels = random.integers(0, 40, len(rows))
            for i, row in enumerate(rows):
                out.write(names[first + i] + "," + ",".join(f"{x:.5f}" for x in row) + f",c{labels[i]}\n")
    with open(pairs, "w") as out:
        out.write("source,target\n")
        for first in range(0, edges, 1000000):
            count = min(1000000, edges - first)
            sources = random.integers(0, vertices, count).tolist()
            targets = random.integers(0, vertices, count).tolist()
            out.write("\n".join(f"{names[a]},{names[b]}" for a, b in zip(sources, targets)) + "\n")


def make_parquet(folder):
    """The same as Parquet; False without pyarrow."""
    try:
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        return False
    for name in ("nodes", "edges"):
        if not (folder / f"{name}.parquet").exists():
            table = pyarrow.csv.read_csv(folder / f"{name}.csv")
            pyarrow.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=1 << 20)
    return True


def measure(rudder, folder, ending, edges):
    output = folder / "out"
    shutil.rmtree(output, ignore_errors=True)
    start = time.monotonic()
    process = subprocess.Popen([rudder, "import", folder / f"nodes.{ending}", folder / f"edges.{ending}", output, "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        return print(f"{ending}: not measured (exit {os.waitstatus_to_exitcode(status)})")
    result = sum(file.stat().st_size for file in output.iterdir())
    peak = usage.ru_maxrss * 1024
    print(f"{ending}: {seconds:.2f} s, {edges / seconds / 1e6:.2f} M edges/s, peak {peak / 2**20:.0f} MiB, "
          f"result {result / 2**20:.0f} MiB, peak / result {peak / result:.2f}, CPU {usage.ru_utime + usage.ru_stime:.2f} s")


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--vertices", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=32)
    parser.add_argument("--rudder", default=here / "build/release/src/cli/rudder")
    parser.add_argument("--folder", type=pathlib.Path, help="keep the tables here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        make_tables(folder, options.vertices, options.edges, options.columns)
        measure(options.rudder, folder, "csv", options.edges)
        if make_parquet(folder):
            measure(options.rudder, folder, "parquet", options.edges)
    return 0


if __name__ == "__main__":
    sys.exit(main())
