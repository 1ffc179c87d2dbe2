"""Whoever trains: Rudder, DistDGL, a loader in one process, any command. Each gives the figures of its epochs."""
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from environments import Absent, call

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 1800  # seconds of one training


@dataclasses.dataclass
class Setting:
    """What all sides of a comparison have in common."""
    ranks: int
    hidden: int
    batch: int
    epochs: int
    threads: int
    classes: int
    fanout: str = "10,25"

    def options(self):
        return ["--hidden", self.hidden, "--batch", self.batch, "--epochs", self.epochs, "--threads", self.threads,
                "--fanout", self.fanout]


@dataclasses.dataclass
class Figures:
    """Of one training: medians over the epochs after the first."""
    epoch: float
    cpu: float
    edges: float


def middle(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def figures_of(text):
    """From the lines a peer printed."""
    epochs = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                epochs.append(json.loads(line))
            except ValueError:
                continue
    epochs = [epoch for epoch in epochs if "seconds" in epoch]
    later = epochs[1:] or epochs
    if not later:
        raise Absent("it told of no epoch")
    return Figures(*(middle([epoch[key] for epoch in later]) for key in ("seconds", "cpu", "edges")))


class Rudder:
    def __init__(self, program, parts, policy):
        self.name = "Rudder" if policy == "default" else f"Rudder, {policy}"
        self.program, self.parts, self.policy = program, parts, policy

    def train(self, setting):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "run")
            command = [self.program, "train", self.parts, "--ranks", setting.ranks, "--ranks-per-host", 1,
                       *setting.options(), "--eval-every", 0, "--precision", "float32", "--sampler", "plain",
                       "--checkpoint-every", 0, "--no-tensorboard", "--json", "--quiet",
                       "--out", out]
            if self.policy != "default":
                command += ["--policy", self.policy]
            summary = json.loads(call([str(word) for word in command], LIMIT, "rudder train"))
            with open(os.path.join(out, "epochs.jsonl")) as file:
                seconds = [json.loads(line)["seconds"] for line in file]
        return Figures(middle(seconds[1:] or seconds), summary["seconds"]["cpu"] / summary["epochs"],
                       summary["edges"] / summary["epochs"])


class Command:
    """Any program that takes the options of dgl_loader.py and prints a line of JSON per epoch."""

    def __init__(self, name, command, graph):
        self.name, self.command, self.graph = name, command, graph

    def train(self, setting):
        command = [*self.command, "--graph", self.graph, *setting.options()]
        return figures_of(call([str(word) for word in command], LIMIT, self.name, OMP_NUM_THREADS=setting.threads))


def namespaces():
    """The command that gives a program mounts of its own; Absent where that is not permitted."""
    if shutil.which("unshare") is None:
        raise Absent("unshare is not installed: no /dev/shm of their own for its machines")
    prefix = ["unshare", "--mount", "--propagation", "private"]
    if os.geteuid() != 0:
        prefix += ["--user", "--map-root-user"]
    call([*prefix, "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], 20, "a /dev/shm of its own (unshare, mount)")
    return prefix


def free_port(addresses, first=30050):
    """One that is free on all of them."""
    for port in range(first, first + 500):
        try:
            for address in addresses:
                with socket.socket() as tried:
                    tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    tried.bind((address, port))
            return port
        except OSError:
            continue
    raise Absent("no free port on the loopback addresses")


class DistDgl:
    """DistDGL: a server and a trainer on each of so many machines, which are loopback addresses of this one."""

    name = "DistDGL"

    def __init__(self, python, folder, prefix):
        self.python, self.folder, self.prefix = python, folder, prefix

    def train(self, setting):
        hosts = [f"127.0.0.{machine + 1}" for machine in range(setting.ranks)]
        with tempfile.TemporaryDirectory() as folder:
            port = free_port(hosts)
            addresses = os.path.join(folder, "addresses.txt")
            with open(addresses, "w") as file:
                file.writelines(f"{host} {port}\n" for host in hosts)
            group_port = free_port(hosts[:1], port + 1)
            machines = []
            for machine in range(setting.ranks):
                with open(os.path.join(folder, f"{machine}.err"), "w") as errors:
                    machines.append(subprocess.Popen(
                        [str(word) for word in (
                            *self.prefix, sys.executable, os.path.join(HERE, "dgl_machine.py"), self.python, machine,
                            setting.ranks, self.folder, addresses, group_port, "--graph", "graph", "--classes",
                            setting.classes, *setting.options())],
                        stdout=subprocess.PIPE if machine == 0 else subprocess.DEVNULL, stderr=errors, text=True,
                        start_new_session=True))
            return figures_of(self._wait(machines, folder))

    def _wait(self, machines, folder):
        try:
            text, _ = machines[0].communicate(timeout=LIMIT)
            for machine in machines[1:]:
                machine.wait(timeout=60)
        except subprocess.TimeoutExpired:
            raise Absent(f"longer than {LIMIT} s")
        finally:
            for machine in machines:
                if machine.poll() is None:
                    os.killpg(machine.pid, signal.SIGKILL)
                    machine.wait()
        for number, machine in enumerate(machines):
            if machine.returncode != 0:
                with open(os.path.join(folder, f"{number}.err")) as file:
                    lines = [line.strip() for line in file if line.strip()]
                raise Absent(f"machine {number}: {lines[-1] if lines else 'it said nothing'}")
        return text
