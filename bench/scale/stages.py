"""The stages of training by themselves: the graph, its parts, and what scale_stages measures on them."""
import json
import os
import shutil

import machine
from rows import Row

WIDTH = 100        # columns of the features
CLASSES = 47
DEGREE = 26        # drawn per vertex; each edge is stored twice
PARTS = 4
POLICIES = ("window:16", "window:64", "lru", "lfu", "scored,every:16")
MPIRUN = ("--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "vader,self",
          "--mca", "mpi_yield_when_idle", "1", "--mca", "oob_tcp_if_include", "lo")


class Sizes:
    """Bytes of the graph, from its vertices."""

    def __init__(self, vertices):
        self.vertices = vertices
        self.edges = 2 * DEGREE * vertices          # stored, a few duplicates less
        self.topology = 4 * self.edges + 8 * vertices
        self.features = 4 * WIDTH * vertices

    def disk(self):
        """Of the graph and of its parts."""
        return 2 * (self.topology + self.features) + 64 * self.vertices

    def memory(self, stage, ranks=PARTS):
        """What a stage takes, roughly: enough to say beforehand that it cannot work."""
        own = 200e6
        return own + {
            "generate": 3 * self.topology + self.features,
            "partition": 3 * self.topology + self.features,
            "sample": 3 * self.topology,
            "own-rows": 2 * self.topology + 2 * self.features,
            "remote-rows": 2 * self.features + ranks * own,
            "policy": 2 * self.topology + 64 * self.vertices,
            "run": ranks * (self.topology + 2 * own) + 1.5 * self.features,
            "evaluation": ranks * (self.topology + 2 * own) + self.features + 2 * 4 * 256 * self.vertices,
        }[stage]


def lacks(need, there, of):
    """Why something of that size cannot work; empty where it can."""
    if need <= there:
        return ""
    return f"needs {machine.gigabytes(need)} of {of}, {machine.gigabytes(there)} are free"


class Stages:
    """The graph of one size, and its stages as rows of the table."""

    def __init__(self, setup, runner):
        self.setup = setup
        self.runner = runner
        self.sizes = Sizes(setup.vertices)
        self.graph = os.path.join(setup.work, f"{setup.vertices}", "graph")
        self.parts = os.path.join(setup.work, f"{setup.vertices}", "parts")
        self.made = os.path.join(setup.work, f"{setup.vertices}", "made.json")

    def thread_counts(self):
        return sorted({1, machine.cores()})

    @staticmethod
    def _threads(count):
        return "1 thread" if count == 1 else f"{count} threads"

    def lack(self, stage, ranks=PARTS):
        return lacks(self.sizes.memory(stage, ranks), self.setup.memory, "memory")

    def all(self):
        yield from self.make()
        yield self.sample()
        for threads in self.thread_counts():
            yield self.own_rows(threads)
        for ranks in self.setup.rank_counts():
            if ranks > 1:
                yield self.remote_rows(ranks)
        yield from self.policies()

    # The graph and its parts, kept for the next time.

    def make(self):
        """Rows of `generate` and `partition`; those of a graph that is kept are from when it was made."""
        if os.path.exists(self.made) and os.path.exists(os.path.join(self.parts, "manifest.json")):
            with open(self.made) as file:
                kept = json.load(file)
            return [Row.from_json(row) for row in kept]
        for folder in (self.graph, self.parts):
            shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(self.graph), exist_ok=True)
        vertices = self.sizes.vertices
        rows = [self._make("generate", [
            self.setup.rudder, "generate", "sbm", self.graph, "--vertices", vertices, "--degree", DEGREE,
            "--classes", CLASSES, "--features", f"planted:{WIDTH}", "--split", "10/5/85", "--json"])]
        if rows[0].skipped:
            rows.append(Row("partition", skipped="there is no graph", failed=rows[0].failed))
        else:
            rows.append(self._make("partition", [
                self.setup.rudder, "partition", self.graph, self.parts, "--parts", PARTS, "--method", "fennel",
                "--passes", 2, "--json"]))
        if not any(row.skipped for row in rows):
            with open(self.made, "w") as file:
                json.dump([row.to_json() for row in rows], file, indent=1)
            shutil.rmtree(self.graph)  # the parts are all that is needed
        return rows

    def _make(self, stage, command):
        lack = self.lack(stage) or lacks(self.sizes.disk(), machine.disk_free(self.setup.work), "disk")
        if lack:
            return Row(stage, skipped=lack)
        done = self.runner.run(command)
        if done.failure:
            return Row(stage, skipped=done.failure, failed=True)
        said = json.loads(done.stdout)
        edges = said["edges"]
        figure = f"{done.seconds:.1f} s, {edges / done.seconds / 1e6:.1f} M edges/s"
        if stage == "partition":
            figure += f", cut {100 * said['cut']:.1f} %"
        return Row(stage, figure, cpu=done.cpu, instructions=done.instructions,
                   values={"seconds": done.seconds, "edges": edges, "vertices": said["vertices"],
                           "ns_per_edge": done.seconds * 1e9 / edges})

    def there(self):
        return os.path.exists(os.path.join(self.parts, "manifest.json"))

    # What scale_stages measures.

    def _measure(self, stage, name, threads=1, ranks=0, steps=None):
        """The row so far and the figures; figures are empty where the row says why."""
        lack = self.lack(stage, max(ranks, 1))
        if not self.there():
            return Row(name, skipped="there is no graph"), {}
        if lack:
            return Row(name, skipped=lack), {}
        command = [self.setup.stages, stage, self.parts, threads, self.setup.rounds, self.setup.batch,
                   steps or self.setup.steps]
        if ranks:
            if shutil.which("mpirun") is None:
                return Row(name, skipped="mpirun is not installed"), {}
            root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
            command = ["mpirun", *root, *MPIRUN, "-n", ranks, *command]
        done = self.runner.run(command)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.failure or not lines:
            return Row(name, skipped=done.failure or "it gave no figures", failed=True), {}
        figures = json.loads(lines[-1])
        return Row(name, cpu=done.cpu, instructions=done.instructions, values=figures,
                   spread=figures.get("spread")), figures

    def sample(self):
        row, figures = self._measure("sample", "sample")
        if figures:
            row.figure = (f"{figures['ns_per_edge']:.1f} ns per edge, "
                          f"{1e3 / figures['ns_per_edge']:.1f} M edges/s, 1 thread")
            row.plain = f"random reads {figures['plain_ns_per_edge']:.1f} ns per edge"
            row.ratios = {"random reads": figures["over_plain"]}
        return row

    def own_rows(self, threads):
        row, figures = self._measure("own-rows", f"own rows, {self._threads(threads)}", threads)
        if figures:
            row.figure = f"{figures['ns_per_row']:.0f} ns per row, {figures['gb_per_s']:.1f} GB/s"
            row.plain = (f"copy {figures['plain_gb_per_s']:.1f} GB/s, "
                         f"row by row {figures['indexed_gb_per_s']:.1f} GB/s")
            row.ratios = {"copy": figures["over_plain"], "copy row by row": figures["over_indexed"]}
        return row

    def remote_rows(self, ranks):
        threads = max(1, machine.cores() // ranks)
        row, figures = self._measure("remote-rows", f"rows of other ranks, {ranks} ranks", threads, ranks)
        if figures:
            row.figure = (f"{figures['ns_per_row']:.0f} ns per row, {figures['gb_per_s']:.2f} GB/s per rank, "
                          f"CPU {figures['cpu_ns_per_row']:.0f} ns per row")
            row.plain = f"copy row by row {figures['plain_gb_per_s']:.1f} GB/s per rank"
            row.ratios = {"copy row by row": figures["over_plain"]}
        return row

    def policies(self):
        name = "numbering of remote rows"
        first, figures = self._measure("policy", name, steps=4 * self.setup.steps)
        if not figures:
            return [first] + [Row(f"bookkeeping, {policy}", skipped=first.skipped, failed=first.failed)
                              for policy in POLICIES]
        plain = figures["plain_ns"]
        first.figure = f"{figures['numbering_ns']:.1f} ns per row"
        first.plain = f"one line touched {plain:.1f} ns"
        first.ratios = {"one line touched": figures["numbering_ns"] / plain}
        rows = [first]
        for policy in POLICIES:
            rows.append(Row(f"bookkeeping, {policy}", f"{figures[policy + ' ns']:.1f} ns per remote row",
                            f"one line touched {plain:.1f} ns",
                            {"one line touched": figures[policy + " over_plain"]},
                            figures[policy + " spread"], values={"ns_per_row": figures[policy + " ns"]}))
        return rows
