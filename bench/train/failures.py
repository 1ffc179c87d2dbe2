#!/usr/bin/env python3
"""How soon failures are told, and what an agent that never answers costs.

    bench/train/failures.py RUDDER [--tries 20] [--load N]

- dead rank: one of 4 ranks is killed while it trains; seconds until the launcher has named it and ended (4).
- failing service: the features of one part are cut short while other ranks ask for them, so that the task that answers them
  fails; seconds until the job has ended with that file's name (3).
- silent agent: a server of a language model takes questions and never answers; seconds per step and rank that training
  spends on mailbox and waiting (`mailbox_seconds`, `waited_seconds` of `summary.agent`), and the median step beside `--agent
  never`, in turns.

`--load` runs so many busy processes beside all of it; `--only` one of the three. Ends with 1 where something takes
longer than is asked for: 2 s at most, 0.8 s (median) for a dead rank without load, and 0.1 ms for an agent.
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

RANKS = 4
# Long enough to be in the middle of training whenever something happens.
TRAIN = ["--batch", "20", "--hidden", "16", "--fanout", "4,6", "--eval-every", "0", "--checkpoint-every", "0", "--quiet",
         "--ranks", str(RANKS), "--ranks-per-host", "1"]
SLOW = ["--epochs", "100000", "--link", "1ms,1gbit"]


def ranks_of(name):
    """The processes that train in that run, by rank."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if name not in words or words[0].endswith("mpirun"):
                continue
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for variable in environment:
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(variable.split(b"=")[1])] = int(entry.name)
    return found


class Training:
    """A run that trains until something ends it."""

    def __init__(self, rudder, place, parts, name, more=()):
        self.name, self.errors = name, place / f"{name}.err"
        self.stream = open(self.errors, "w")
        self.process = subprocess.Popen([rudder, "train", parts, "--out", name, *TRAIN, *SLOW, *more], cwd=place,
                                        stdout=subprocess.DEVNULL, stderr=self.stream)
        metrics = place / name / "metrics.jsonl"
        end = time.monotonic() + 60
        while not (metrics.exists() and metrics.stat().st_size > 0):
            if time.monotonic() > end or self.process.poll() is not None:
                self.process.kill()
                sys.exit(f"{name} did not train: {self.errors.read_text()}")
            time.sleep(0.01)

    def end(self, code, words):
        """Seconds until it has ended, which it must with that code and these words."""
        begin = time.monotonic()
        try:
            got = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit(f"{self.name} hangs: {self.errors.read_text()}")
        seconds = time.monotonic() - begin
        text = self.errors.read_text()
        if got != code or not all(word in text for word in words):
            sys.exit(f"{self.name} ended with {got}, not {code} and {words}: {text}")
        return seconds


def dead_rank(rudder, place, number):
    run = Training(rudder, place, "parts", f"dead-{number}")
    time.sleep(random.random() * 0.5)
    rank, pid = random.choice(sorted(ranks_of(run.name).items()))
    os.kill(pid, signal.SIGKILL)
    return run.end(4, [f"rank {rank}"])


def failing_service(rudder, place, number):
    parts = f"parts-{number}"
    subprocess.run(["cp", "-r", "parts", parts], cwd=place, check=True)
    # Rows of other precision than stored would be copied at the start.
    run = Training(rudder, place, parts, f"service-{number}", ["--policy", "none", "--precision", "native"])
    features = max((place / parts).rglob("features*"), key=lambda file: file.stat().st_size)
    os.truncate(features, 0)
    return run.end(3, [features.name])


class SilentServer:
    """Takes connections and what they send, and says nothing."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        self.held = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            self.held.append(self.socket.accept()[0])


def timed(rudder, place, name, agent):
    words = [rudder, "train", "parts", "--out", name, "--force", *TRAIN, "--epochs", "8", "--policy", "scored", *agent,
             "--json"]
    summary = json.loads(subprocess.run(words, cwd=place, check=True, capture_output=True, text=True).stdout)
    return summary


def silent_agent(rudder, place, tries):
    server = SilentServer()
    silent = ["--agent", "llm,interval:1", "--llm-url", f"http://127.0.0.1:{server.port}/v1", "--llm-model", "any"]
    steps, own = {"never": [], "silent": []}, []
    for _ in range(tries):
        steps["never"].append(timed(rudder, place, "timed", ["--agent", "never"])["seconds"]["step"])
        summary = timed(rudder, place, "timed", silent)
        steps["silent"].append(summary["seconds"]["step"])
        agent = summary["agent"]
        own.append((agent["mailbox_seconds"] + agent["waited_seconds"]) / (summary["steps"] * RANKS))
    return own, steps


def busy():
    while True:
        pass


def show(what, seconds, median):
    """One row; whether it is within what is asked for: 2 s, and a median."""
    asked = f"{median} (median), 2 (all)" if median else "2"
    print(f"| {what} | {statistics.median(seconds):.3f} | {max(seconds):.3f} | {len(seconds)} | {asked} |", flush=True)
    return max(seconds) <= 2 and (median is None or statistics.median(seconds) <= median)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rudder")
    options.add_argument("--tries", type=int, default=20)
    options.add_argument("--load", type=int, default=0)
    options.add_argument("--only", choices=["rank", "service", "agent"])
    given = options.parse_args()
    rudder = str(pathlib.Path(given.rudder).resolve())
    for _ in range(given.load):
        multiprocessing.Process(target=busy, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="rudder-failures-") as folder:
        place = pathlib.Path(folder)
        for words in (["generate", "sbm", "graph", "--vertices", "20000", "--seed", "5"],
                      ["partition", "graph", "parts", "--parts", str(RANKS), "--method", "ldg"]):
            subprocess.run([rudder, *words, "--quiet"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        print("| failure | median s | longest s | tries | asked |\n| --- | --- | --- | --- | --- |")
        good = True
        if given.only in (None, "rank"):
            times = [dead_rank(rudder, place, number) for number in range(given.tries)]
            good &= show("dead rank named", times, None if given.load else 0.8)
        if given.only in (None, "service"):
            times = [failing_service(rudder, place, number) for number in range(given.tries)]
            good &= show("failing service told", times, None)
        if given.only not in (None, "agent"):
            return 0 if good else 1
        own, steps = silent_agent(rudder, place, max(5, given.tries // 4))
        good &= statistics.median(own) <= 1e-4
        print(f"\nAn agent that never answers costs {1e3 * statistics.median(own):.4f} ms per step and rank (asked: 0.1); "
              f"seconds of all steps {statistics.median(steps['silent']):.3f} beside "
              f"{statistics.median(steps['never']):.3f} with `--agent never`, {len(own)} runs each, in turns.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
