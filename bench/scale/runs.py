"""Whole runs through the program: ranks, policies, networks and links, sides in turns."""
import dataclasses
import json
import re

import machine
from rows import Row, median, spread

POLICIES = ("none", "window:16", "default")
HIDDEN = (16, 256)
LINKS = ("", "20us,10gbit", "100us,1gbit")


@dataclasses.dataclass(frozen=True)
class Run:
    ranks: int
    policy: str
    hidden: int
    link: str = ""
    evaluate: bool = False

    def name(self):
        if self.evaluate:
            return f"exact evaluation, {self.ranks} ranks, hidden {self.hidden}"
        ranks = "1 rank" if self.ranks == 1 else f"{self.ranks} ranks"
        policy = "" if self.ranks == 1 else f", {self.policy}"
        return f"run, {ranks}, hidden {self.hidden}{policy}" + (f", {self.link}" if self.link else "")

    def options(self):
        """`default` names neither policy nor agent: what a user gets."""
        options = ["--ranks", self.ranks, "--ranks-per-host", 1, "--hidden", self.hidden,
                   "--threads", max(1, machine.cores() // self.ranks)]
        if self.policy != "default":
            options += ["--policy", self.policy, "--agent", "never"]
        return options + (["--link", self.link] if self.link else [])


EVALUATED = Run(4, "none", 256)  # the run whose evaluation is timed


def plan(tiny):
    if tiny:  # each kind once, for a test
        return [Run(1, "none", 16), Run(2, "none", 16), Run(2, "window:16", 16), Run(2, "default", 16),
                Run(2, "none", 16, LINKS[1]), Run(2, "window:16", 16, LINKS[1]), Run(4, "none", 256),
                Run(4, "window:16", 256)]
    alone = [Run(1, "none", hidden) for hidden in HIDDEN]
    return alone + [Run(ranks, policy, hidden, link) for hidden in HIDDEN for ranks in (2, 4)
                    for link in LINKS for policy in POLICIES]


def figures_of(summary):
    """What one run says of itself, per epoch."""
    rows, seconds, epochs = summary["rows"], summary["seconds"], summary["epochs"]
    remote = rows["needed"] - rows["local"]
    return {"epoch": seconds["epoch"], "step": seconds["epoch"] / summary["steps_per_epoch"],
            "cpu": seconds["cpu"] / epochs,
            "rows": (rows["demand"] + rows["replacement"] + rows["ahead"]) / epochs,
            "policy_ns": seconds["policy"] * 1e9 / remote if remote else 0.0,
            "total": seconds["total"], "evaluation": seconds["evaluation"] / epochs,
            "peak": summary["memory"]["peak_rss"], "digest": summary["loss"]["digest"]}


class Runs:
    def __init__(self, setup, runner, stages, tell=lambda text: None):
        self.tell = tell  # called with a line for each run
        self.setup = setup
        self.runner = runner
        self.stages = stages
        self.runs = [run for run in plan(setup.tiny) if re.search(setup.runs, run.name())]
        self.evaluated = [dataclasses.replace(EVALUATED, evaluate=True)] if EVALUATED in self.runs else []
        self.others = {}  # what the other build of --beside gave, by run

    def names(self):
        return [run.name() for run in (*self.runs, *self.evaluated)]

    def _train(self, program, options):
        done = self.runner.run([
            program, "train", self.stages.parts, "--batch", self.setup.batch, "--fanout", "10,25",
            "--precision", "float32", "--sampler", "plain", "--epochs", self.setup.epochs, "--json", "--quiet",
            "--trust-data", *options])
        return done, (json.loads(done.stdout) if not done.failure else {})

    def all(self):
        """Every round takes all sides in turn, so that what disturbs one disturbs all."""
        if not self.stages.there():
            return [Row(name, skipped="there is no graph") for name in self.names()]
        sides = [*self.runs, *self.evaluated]
        measured = {run: [] for run in sides}
        rows = {run: Row(run.name(), skipped=self.stages.lack("evaluation" if run.evaluate else "run", run.ranks))
                for run in sides}
        for turn in range(self.setup.rounds):
            for run in sides:
                if rows[run].skipped:
                    continue
                options = ["--eval-every", int(run.evaluate), *run.options()]
                done, summary = self._train(self.setup.rudder, options)
                if done.failure:
                    rows[run].skipped, rows[run].failed = done.failure, True
                    continue
                measured[run].append(figures_of(summary) | {"instructions": done.instructions})
                self.tell(f"  round {turn + 1}: {run.name()}: epoch {measured[run][-1]['epoch']:.2f} s, "
                          f"CPU {measured[run][-1]['cpu']:.2f} s")
                if self.setup.beside and not run.evaluate:
                    self._other(run, options)
        for run in self.runs:
            if not rows[run].skipped:
                self._fill(rows[run], run, measured)
        self._same_losses(rows, measured)
        for run in self.evaluated:
            if not rows[run].skipped and measured[EVALUATED]:
                self._fill_evaluation(rows[run], measured[run], measured[EVALUATED])
        return list(rows.values())

    def _other(self, run, options):
        """The same by the other build; where that fails, it has no figure."""
        done, summary = self._train(self.setup.beside, options)
        if not done.failure:
            self.others.setdefault(run, []).append(figures_of(summary))
            self.tell(f"    the other build: epoch {self.others[run][-1]['epoch']:.2f} s, "
                      f"CPU {self.others[run][-1]['cpu']:.2f} s")

    def _same_losses(self, rows, measured):
        """Runs of one network learn the same, bit for bit, whatever their ranks, policy and link."""
        for hidden in HIDDEN:
            digests = {run: {r["digest"] for r in measured[run]} for run in self.runs if run.hidden == hidden}
            first = next((value for value in digests.values() if value), set())
            for run, found in digests.items():
                if found and found != first:
                    rows[run].failed = True
                    rows[run].figure += f", LOSSES DIFFER: {', '.join(sorted(found))}"

    def _fill(self, row, run, measured):
        rounds = measured[run]
        middle = {key: median([r[key] for r in rounds]) for key in ("epoch", "step", "cpu", "rows", "policy_ns")}
        row.figure = f"epoch {middle['epoch']:.2f} s, step {middle['step'] * 1e3:.1f} ms"
        if run.ranks > 1:
            row.figure += f", {middle['rows'] / 1e3:.0f} k rows"
        if middle["policy_ns"]:
            row.figure += f", policy {middle['policy_ns']:.0f} ns per remote row"
        row.cpu = middle["cpu"]
        counted = [r["instructions"] for r in rounds if r["instructions"]]
        row.instructions = int(median(counted)) if counted else None
        row.values = middle | {"peak_rss": max(r["peak"] for r in rounds), "rounds": len(rounds),
                               "digest": rounds[0]["digest"]}
        for over, other, key in self._bases(run):
            pairs = list(zip(rounds, measured.get(other, [])))
            if pairs:
                ratios = [mine[key] / its[key] for mine, its in pairs]
                row.ratios[over] = median(ratios)
                row.spread = max(row.spread or 0, spread(ratios))

        others = self.others.get(run, [])
        if others:
            row.plain = (f"other build: epoch {median([r['epoch'] for r in others]):.2f} s, "
                         f"{median([r['rows'] for r in others]) / 1e3:.0f} k rows, "
                         f"policy {median([r['policy_ns'] for r in others]):.0f} ns")
            for over, key in (("the other build", "epoch"), ("its CPU", "cpu")):
                row.ratios[over] = median([mine[key] / its[key] for mine, its in zip(rounds, others)])

    @staticmethod
    def _bases(run):
        """What a run is held against: no policy, no link, and its CPU against that of one rank."""
        if run.policy != "none":
            yield "none", dataclasses.replace(run, policy="none"), "epoch"
        if run.link:
            yield "no link", dataclasses.replace(run, link=""), "epoch"
        if run.ranks > 1 and not run.link and run.policy == "none":
            yield "CPU of 1 rank", Run(1, "none", run.hidden), "cpu"

    def _fill_evaluation(self, row, rounds, plain):
        """What evaluating after each epoch adds to it: part of it happens beside training."""
        added = [(mine["total"] - its["total"]) / self.setup.epochs for mine, its in zip(rounds, plain)]
        row.figure = (f"adds {median(added):.2f} s to an epoch, "
                      f"takes {median([r['evaluation'] for r in rounds]):.2f} s beside training")
        row.cpu = median([r["cpu"] for r in rounds])
        row.plain = f"an epoch of training {median([r['epoch'] for r in plain]):.2f} s"
        ratios = [max(0.0, a) / its["epoch"] for a, its in zip(added, plain)]
        row.ratios, row.spread = {"epoch": median(ratios)}, spread(ratios)
        counted = [r["instructions"] for r in rounds if r["instructions"]]
        row.instructions = int(median(counted)) if counted else None
        row.values = {"added": median(added)}
