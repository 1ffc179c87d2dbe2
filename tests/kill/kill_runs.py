#!/usr/bin/env python3
"""Kills training runs at random moments (a rank, mpirun, the launcher, the server of their agent) and resumes them.

    kill_runs.py --build build/release [--kills 200] [--seed 1] [--jobs 2] [--only N]

Each must end, leave no process, nothing half-written and nothing in /dev/shm behind, have no checkpoint that cannot be read,
and come to what a run that was left alone comes to: the losses of every line of metrics.jsonl, accuracy and digest. A failure
prints the command that repeats it; ends with 1 if there was one.
"""
import argparse
import concurrent.futures
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 4
KINDS = ["rank", "rank", "rank again", "mpirun", "launcher", "server"]
PATIENCE = 90  # seconds: what takes longer hangs
OPTIONS = ["--epochs", "15", "--batch", "20", "--hidden", "16", "--fanout", "4,6", "--eval-every", "1", "--quiet",
           "--ranks", str(RANKS), "--ranks-per-host", "1", "--policy", "scored"]
# Slow enough that a run lasts for some seconds; what it comes to does not depend on the link.
SLOW = ["--link", "4ms,1gbit"]
RESULTS = ("loss", "accuracy", "steps", "epochs")  # of summary.json: what a run comes to
SEGMENTS = ("rudder-", "vader_segment.", "sm_segment.")  # names in /dev/shm


class Failure(Exception):
    pass


def serve(port_file):
    """A server of a language model that keeps everything as it is."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = {"choices": [{"message": {"content": '{"action": "keep"}'}, "finish_reason": "stop"}]}
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pathlib.Path(port_file).write_text(str(server.server_address[1]))
    server.serve_forever()


def processes(word):
    """Living processes with a word in their command line, by pid."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found[int(entry.name)] = line
    return found


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return condition()


def shared_memory():
    """Segments that ranks, and Open MPI for them, have made, and that no living process has mapped."""
    found = {path.name for path in pathlib.Path("/dev/shm").glob("*") if path.name.startswith(SEGMENTS)}
    for entry in pathlib.Path("/proc").iterdir():
        if found and entry.name.isdigit():
            try:
                maps = (entry / "maps").read_text(errors="replace")
            except OSError:
                continue
            found = {name for name in found if f"/dev/shm/{name}" not in maps}
    return found


def told(run):
    """Step, epoch, rank and loss of every line of metrics.jsonl; the rest (seconds, rows by then) differs from run to run."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [[line[key] for key in ("step", "epoch", "rank", "loss")] for line in lines]


class Job:
    """One run that is killed and resumed."""

    def __init__(self, place, rudder, number, seed, alone):
        self.dice = random.Random(f"{seed} {number}")
        self.kind = KINDS[number % len(KINDS)]
        self.name = f"run-{os.getpid()}-{number:05}"  # none is the beginning of another's
        self.place, self.rudder, self.alone = place, rudder, alone
        self.run = place / self.name
        self.temporary = place / f"tmp-{number}"
        self.temporary.mkdir()
        self.server = None
        self.result = "before the first checkpoint"

    def words(self, more):
        return [self.rudder, "train", "parts", "--out", self.name, *OPTIONS, *self.agent(), *more]

    def agent(self):
        if self.kind != "server":
            return ["--agent", "every:2"]
        return ["--agent", "llm", "--llm-url", f"http://127.0.0.1:{self.port}/v1", "--llm-model", "any"]

    def environment(self):
        return dict(os.environ, TMPDIR=str(self.temporary))

    def start_server(self):
        port = self.place / f"{self.name}.port"
        self.server = subprocess.Popen([sys.executable, __file__, "--serve", str(port)])
        if not wait_for(lambda: port.exists() and port.read_text(), 20):
            raise Failure("the server did not start")
        self.port = port.read_text()

    def checkpoints(self):
        return sorted(self.run.glob("checkpoints/step-*"))

    def victim(self, launcher):
        """Which process to kill; none: there is nothing left to kill."""
        if self.kind == "launcher":
            return launcher.pid
        if self.kind == "server":
            return self.server.pid
        family = {pid: line for pid, line in processes(self.name).items() if pid != launcher.pid}
        mpirun = [pid for pid, line in family.items() if line.split()[0].endswith("mpirun")]
        if self.kind == "mpirun":
            return mpirun[0] if mpirun else None
        ranks = sorted(set(family) - set(mpirun))
        return self.dice.choice(ranks) if ranks else None

    def kill(self, launcher):
        """Whether something was killed while the run was under way."""
        if self.dice.random() < 0.7:
            wait_for(lambda: self.checkpoints() or launcher.poll() is not None, PATIENCE)
            time.sleep(self.dice.random() * 0.4 * self.alone["seconds"])
        else:
            time.sleep(self.dice.random() * self.alone["seconds"])
        pid = self.victim(launcher)
        if pid is None or launcher.poll() is not None:
            return False
        if self.checkpoints():
            self.result = "after a checkpoint"
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def check_end(self, code, errors):
        good = {"rank": [4], "rank again": [0], "mpirun": [1, 4], "launcher": [-signal.SIGKILL], "server": [0]}[self.kind]
        if code == 0 and self.kind == "mpirun" and self.whole():
            self.result = "had ended"  # its ranks had: all that mpirun still had to do was to go
        elif code not in good:
            raise Failure(f"ended with {code}, not {good}: {errors[-600:]}")
        if not wait_for(lambda: not processes(self.name), 8):
            raise Failure(f"left behind: {processes(self.name)}")
        for checkpoint in self.checkpoints():
            self.call("info", f"{self.name}/checkpoints/{checkpoint.name}")

    def call(self, *words):
        done = subprocess.run([self.rudder, *words], cwd=self.place, env=self.environment(), capture_output=True, text=True,
                              timeout=PATIENCE)
        if done.returncode != 0:
            raise Failure(f"rudder {' '.join(words)}: {done.returncode}: {done.stderr[-600:]}")
        return done.stdout

    def whole(self):
        """Whether the run came to its end before it was resumed."""
        summary = self.run / "summary.json"
        return summary.exists() and all(json.loads(summary.read_text())[key] == self.alone[key] for key in RESULTS)

    def check_whole(self):
        self.call(*self.words(["--resume"])[1:])
        summary = json.loads((self.run / "summary.json").read_text())
        for key in RESULTS:
            if summary[key] != self.alone[key]:
                raise Failure(f"{key}: {summary[key]}, left alone {self.alone[key]}")
        lines = told(self.run)
        if len(lines) != len(self.alone["lines"]):
            raise Failure(f"metrics.jsonl: {len(lines)} lines, left alone {len(self.alone['lines'])}")
        for number, (line, expected) in enumerate(zip(lines, self.alone["lines"])):
            if line != expected:
                raise Failure(f"metrics.jsonl, line {number + 1}: {line}, left alone {expected}")
        left = [str(path) for path in [*self.run.rglob(".*"), *self.temporary.glob("rudder*")] if path.name != ".lock"]
        if left:
            raise Failure(f"left behind: {left}")
        # Those of other jobs may lie there for a moment before they are mapped.
        if not wait_for(lambda: not shared_memory() - self.alone["segments"], 8):
            raise Failure(f"left behind in /dev/shm: {sorted(shared_memory() - self.alone['segments'])}")

    def go(self):
        """What was killed, and how it ended."""
        if self.kind == "server":
            self.start_server()
        again = ["--restarts", "2"] if self.kind == "rank again" else []
        errors = self.place / f"{self.name}.err"
        try:
            with open(errors, "w") as stream:
                launcher = subprocess.Popen(self.words([*SLOW, *again]), cwd=self.place, env=self.environment(),
                                            stdout=subprocess.DEVNULL, stderr=stream)
                killed = self.kill(launcher)
                try:
                    code = launcher.wait(timeout=PATIENCE)
                except subprocess.TimeoutExpired:
                    launcher.kill()
                    raise Failure(f"hangs: {errors.read_text()[-600:]}") from None
            if killed:
                self.check_end(code, errors.read_text())
            elif code != 0:
                raise Failure(f"ended with {code}: {errors.read_text()[-600:]}")
            else:
                self.result = "had ended"
            self.check_whole()
        finally:
            if self.server is not None:
                self.server.kill()
                self.server.wait()
        for path in (self.run, self.temporary):
            shutil.rmtree(path)
        return self.kind, self.result


def run_alone(place, rudder):
    begin = time.monotonic()
    words = [rudder, "train", "parts", "--out", "alone", *OPTIONS, "--agent", "every:2", *SLOW]
    subprocess.run(words, cwd=place, check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((place / "alone" / "summary.json").read_text())
    return {**{key: summary[key] for key in RESULTS}, "lines": told(place / "alone"),
            "seconds": time.monotonic() - begin}


def show(counts, kills):
    print(f"\n{'killed':<12} {'after a checkpoint':>20} {'before the first':>18}")
    for kind in dict.fromkeys(KINDS):
        print(f"{kind:<12} {counts.get((kind, 'after a checkpoint'), 0):>20} "
              f"{counts.get((kind, 'before the first checkpoint'), 0):>18}")
    ended = sum(count for (_, result), count in counts.items() if result == "had ended")
    print(f"{kills} kills; {ended} more runs had ended before theirs")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build/release")
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--only", type=int, help="the number of one run")
    options.add_argument("--serve", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        return serve(given.serve)
    rudder = str(pathlib.Path(given.build).resolve() / "src/cli/rudder")
    if shutil.which("mpirun") is None:
        print("SKIPPED: there is no mpirun")
        return 77
    counts, failures, segments = {}, [], shared_memory()
    with tempfile.TemporaryDirectory(prefix="rudder-kill-") as folder:
        place = pathlib.Path(folder)
        for words in (["generate", "sbm", "graph", "--vertices", "800", "--seed", "5"],
                      ["partition", "graph", "parts", "--parts", str(RANKS), "--method", "ldg"]):
            subprocess.run([rudder, *words, "--quiet"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        alone = {**run_alone(place, rudder), "segments": segments}
        print(f"a run left alone takes {alone['seconds']:.1f} s")

        def one(number):
            try:
                return number, Job(place, rudder, number, given.seed, alone).go(), None
            except Exception as error:  # whatever it is, the others go on
                return number, None, f"{type(error).__name__}: {error}"

        kills, number, step = 0, 0, 2 * given.jobs
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            while kills < given.kills and number < 2 * given.kills + step:
                batch = [given.only] if given.only is not None else range(number, number + step)
                for which, result, failure in pool.map(one, batch):
                    if failure:
                        failures.append(which)
                        print(f"run {which} ({KINDS[which % len(KINDS)]}): {failure}\n  repeat it with: "
                              f"{sys.argv[0]} --build {given.build} --seed {given.seed} --only {which}", flush=True)
                    else:
                        counts[result] = counts.get(result, 0) + 1
                        kills += result[1] != "had ended"
                number += step
                if number % (5 * step) == 0:
                    print(f"{kills} kills", flush=True)
                if given.only is not None:
                    break
    show(counts, kills)
    if failures:
        print(f"{len(failures)} FAILED: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
