#!/usr/bin/env python3
"""Trains for a long time on all cores and watches memory and open files of every rank.

    soak.py --build build/release [--minutes 30] [--ranks 2]

Memory of the last third must be within 1 % of that of the middle one, on average, and no more files may be open. Ends with
1 if that is not so.
"""
import argparse
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PAGE = os.sysconf("SC_PAGESIZE")
TRAIN = ["--epochs", "1000000000", "--batch", "100", "--hidden", "32", "--checkpoint-every", "20s", "--policy", "window",
         "--agent", "bandit", "--ranks-per-host", "1", "--quiet"]


def ranks_of(name):
    """The processes that train, by pid: the launcher and mpirun do not."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if name in line and not line[0].endswith("mpirun") and b"OMPI_COMM_WORLD_RANK" in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return sorted(found)


def look_at(pid):
    """Resident bytes and open files."""
    folder = pathlib.Path(f"/proc/{pid}")
    return int((folder / "statm").read_text().split()[1]) * PAGE, len(list((folder / "fd").iterdir()))


def watch(job, pids, seconds):
    seen = {pid: [] for pid in pids}
    end = time.monotonic() + seconds
    while time.monotonic() < end and job.poll() is None:
        try:
            for pid in pids:
                seen[pid].append(look_at(pid))
        except OSError:  # a rank has ended: the job does, too
            break
        time.sleep(1)
    return seen


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build/release")
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--ranks", type=int, default=2)
    given = options.parse_args()
    rudder = str(pathlib.Path(given.build).resolve() / "src/cli/rudder")
    if shutil.which("mpirun") is None:
        print("SKIPPED: there is no mpirun")
        return 77
    with tempfile.TemporaryDirectory(prefix="rudder-soak-") as place:
        for words in (["generate", "sbm", "graph", "--vertices", "60000", "--seed", "5"],
                      ["partition", "graph", "parts", "--parts", str(given.ranks), "--method", "ldg"]):
            subprocess.run([rudder, *words, "--quiet"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        name = f"soak-{os.getpid()}"
        job = subprocess.Popen([rudder, "train", "parts", "--out", name, "--ranks", str(given.ranks), *TRAIN], cwd=place,
                               stdout=subprocess.DEVNULL)
        run = pathlib.Path(place) / name
        while job.poll() is None and not list(run.glob("checkpoints/step-*")):
            time.sleep(0.2)
        seen = watch(job, ranks_of(name), given.minutes * 60)
        job.send_signal(signal.SIGTERM)
        code = job.wait(timeout=60)
        steps = (run / "metrics.jsonl").read_text().count("\n") // given.ranks
    if code != 5 or len(seen) != given.ranks:
        print(f"ended with {code}, {len(seen)} ranks seen")
        return 1
    print(f"{given.minutes:g} minutes, {steps} steps")
    good = True
    for rank, values in enumerate(seen.values()):
        third = len(values) // 3
        middle, last = values[third:2 * third], values[2 * third:]
        before, after = (statistics.mean(memory for memory, _ in part) for part in (middle, last))
        files = [max(count for _, count in part) for part in (middle, last)]
        good &= abs(after / before - 1) <= 0.01 and files[1] <= files[0]
        print(f"rank {rank}: {before / 2**20:.2f} MiB in the middle third, {after / 2**20:.2f} in the last "
              f"({100 * (after / before - 1):+.3f} %), open files {files[0]} and {files[1]}")
        every = max(1, len(values) // 30)
        print("  MiB over time: " + " ".join(f"{memory / 2**20:.1f}" for memory, _ in values[::every]))
    print("steady" if good else "NOT STEADY")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
