"""How long a report over 100,000 steps on 16 ranks takes, how large it is, and how long explain takes.

    report_bench.py RUDDER [--steps 100000] [--ranks 16] [--times 5]
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rudder")
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--times", type=int, default=5)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rudder-report-") as here:
        run = os.path.join(here, "run")
        subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "big_run.py"), run,
                        "--steps", str(o.steps), "--ranks", str(o.ranks)], check=True)
        size = sum(entry.stat().st_size for entry in os.scandir(run))
        walls, cpus = [], []
        for _ in range(o.times):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.monotonic()
            said = json.loads(subprocess.check_output([o.rudder, "report", run, "--json"]))
            walls.append(time.monotonic() - start)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        explained, explaining = [], []
        for _ in range(o.times):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.monotonic()
            subprocess.check_output([o.rudder, "explain", run, "--json"])
            explained.append(time.monotonic() - start)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            explaining.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"{o.steps} steps x {o.ranks} ranks, {size / 1e6:.0f} MB of files: report in "
              f"{statistics.median(walls):.2f} s (median of {o.times}; best {min(walls):.2f}), "
              f"{statistics.median(cpus):.2f} s of CPU, page of {said['bytes'] / 1e3:.0f} KB, "
              f"at most {peak / 1024:.0f} MiB of memory; explain in {statistics.median(explained):.2f} s "
              f"(best {min(explained):.2f}), {statistics.median(explaining):.2f} s of CPU")


main()
