"""Python environments of the peers, made once from PyPI; a peer that cannot be installed is absent, with the reason."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Absent(Exception):
    """A peer that cannot run here, and why."""


def ended(done):
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["it said nothing"])[-1]


def call(command, limit, what, **variables):
    """What it printed; `variables` are of its environment."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit,
                              env={**os.environ, **{name: str(value) for name, value in variables.items()}})
    except subprocess.TimeoutExpired:
        raise Absent(f"{what}: longer than {limit} s")
    except OSError as error:
        raise Absent(f"{what}: {error.strerror}")
    if done.returncode != 0:
        raise Absent(f"{what}: {ended(done)}")
    return done.stdout


class Environment:
    """One in `folder`, with the packages of `requirements`; `first`: options of pip for what must be had before the
    large rest is worth fetching; `built`: packages that are compiled against the rest."""

    def __init__(self, folder, requirements, test, python=sys.executable, first=(), built=()):
        self.folder = folder
        self.requirements = os.path.join(HERE, requirements)
        self.test = test          # a program that imports what is needed
        self.base = python
        self.first = first
        self.built = built

    @property
    def python(self):
        return os.path.join(self.folder, "bin", "python")

    def ready(self):
        """The environment's Python; makes it where it is not there yet."""
        mark = os.path.join(self.folder, "ready")
        with open(self.requirements) as file:
            wanted = file.read()
        if os.path.exists(mark):
            with open(mark) as file:
                if file.read() == wanted:
                    self._try()
                    return self.python
        shutil.rmtree(self.folder, ignore_errors=True)
        call([self.base, "-m", "venv", self.folder], 300, "python3 -m venv")
        if self.first:
            self._pip(600, *self.first)
        self._pip(3600, "-r", self.requirements)
        if self.built:
            self._pip(600, "setuptools<81", "wheel", "ninja")
            self._pip(7200, "--no-build-isolation", *self.built)
        self._try()
        with open(mark, "w") as file:
            file.write(wanted)
        return self.python

    def _pip(self, limit, *options):
        call([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options], limit,
             f"pip install {options[-1]}")

    def _try(self):
        call([self.python, "-c", self.test], 300, "import")
