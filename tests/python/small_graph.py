"""A small graph whose features say which vertex they are of."""

import os
import socket
import subprocess
import sys
import tempfile

import numpy

import rudder

vertices = 400
classes = 4


def arrays(seed=1):
    """Random edges; column 0 of the features is the vertex, its class is the vertex modulo 4."""
    draws = numpy.random.default_rng(seed)
    edge_index = draws.integers(0, vertices, (2, 2400))
    x = draws.random((vertices, 6), dtype=numpy.float32)
    x[:, 0] = numpy.arange(vertices)
    y = numpy.arange(vertices) % classes
    return edge_index, x, y


def edges_of(edge_index):
    """Each way, without loops."""
    pairs = {(int(a), int(b)) for a, b in edge_index.T if a != b}
    return pairs | {(b, a) for a, b in pairs}


def make(folder, parts=2):
    """The parts, in a folder of their own."""
    edge_index, x, y = arrays()
    data = rudder.Dataset.from_arrays(os.path.join(folder, "graph"), edge_index, x, y)
    return data.partition(parts, os.path.join(folder, f"parts-{parts}"), method="ldg").path


def temporary():
    return tempfile.TemporaryDirectory(prefix="rudder-python-")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(script, *arguments, rank=None, size=None, port=None, **variables):
    """A script in an interpreter of its own; as a rank of a job, where one is given."""
    environment = dict(os.environ, **variables)
    if rank is not None:
        environment.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(port - 1))
    return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process, seconds=60):
    """Its code and what it said; one that does not end fails the test."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"not ended after {seconds} s\n{out}{err}")
    return process.returncode, out, err
