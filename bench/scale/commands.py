"""Runs commands: with a time limit, their CPU seconds, and their instructions where those are counted."""
import dataclasses
import os
import resource
import signal
import subprocess
import tempfile
import time

import machine


@dataclasses.dataclass
class Outcome:
    stdout: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    instructions: int | None = None
    failure: str = ""  # empty: it ended with 0


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_words(text):
    """The line that says most: the program's own if it is there, else the last one with words."""
    lines = [line.strip() for line in text.splitlines() if any(c.isalpha() for c in line)]
    own = [line for line in lines if line.startswith(("scale_stages:", "rudder"))]
    return (own or lines)[-1] if lines else "it said nothing"


class Runner:
    """`count`: whether perf counts instructions here."""

    def __init__(self, count, limit=1800, say=lambda text: None):
        self.count = count
        self.limit = limit
        self.say = say

    def run(self, command, environment=None):
        command = [str(word) for word in command]
        self.say("$ " + " ".join(command))
        with tempfile.TemporaryDirectory() as folder:
            counts = os.path.join(folder, "counts")
            if self.count:
                command = ["perf", "stat", "-x", ",", "-e", "instructions:u", "-o", counts, "--", *command]
            outcome = self._wait(command, environment)
            if self.count and os.path.exists(counts):
                with open(counts) as file:
                    outcome.instructions = machine.instructions_of(file.read())
        return outcome

    def _wait(self, command, environment):
        before, start = cpu_of_children(), time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env={**os.environ, **(environment or {})}, start_new_session=True)
        except OSError as error:
            return Outcome(failure=f"{command[0]}: {error.strerror}")
        try:
            stdout, stderr = process.communicate(timeout=self.limit)
            failure = "" if process.returncode == 0 else f"exit {process.returncode}: {last_words(stderr)}"
        except subprocess.TimeoutExpired:
            stdout, failure = end(process), f"it took longer than {self.limit} s"
        return Outcome(stdout, time.monotonic() - start, cpu_of_children() - before, None, failure)


def end(process):
    """Ends a process and all it started; what it had printed."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            return process.communicate(timeout=10)[0] or ""
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
    return ""
