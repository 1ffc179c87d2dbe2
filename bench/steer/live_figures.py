#!/usr/bin/env python3
"""The figures of `bandit` in live runs, on one machine, within so many minutes.

    bench/steer/live_figures.py --rudder build/release/src/cli/rudder --data ../shared/data --out figures --minutes 9

What live_bandit.py measures one run after the other is measured here by several runs at a time, each on cores of its own
(`taskset`), 4 to a run of 4 ranks. For every graph and start: rows and stall after the first epoch over the best of the
declared class (docs/agents.md, "Excess and regret"), seconds as medians of five runs; the changes that were taken and
which of them were wrong; the share of the CPU of all of the agent's work; the steps until a step is within 5 % of the
best after the link has fallen to a tenth, and after it has come back.

All members of the class that a trace says enough for are replayed over that of a run. Those that fetch the fewest rows there, four
at most and none with over 15 % more than the fewest, are run live, and so are the others; then the two of them with the least stall
four times more.

What does not fit into the minutes is left out, and said to be. In --out: figures.json (every run), figures.md (the tables).
"""
import argparse
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import live_bandit as live
from lanes import Lanes, Late
from live_tables import JUDGED, Tables, text_of

RANKS = live.RANKS
CORES_PER_RUN = RANKS
REPEATS = 5
MOST_CONTENDERS = 4
NEAR_FEWEST = 1.15   # of the fewest rows: who is run live
NOT_IN_TRACES = ["static-vip"]  # needs what a run without it does not record: run live, too
FINALISTS = 2
# Links are such that a step of the best setting waits for rows about as long as it computes.
SHAPES = {
    "npm_deps": {"link": "100us,200mbit", "train": "--hidden 64 --fanout 10,25 --batch 250 --epochs 12"},
    "debian_bookworm": {"link": "100us,200mbit", "train": "--hidden 64 --fanout 10,25 --batch 250 --epochs 12"},
    "generated": {"link": "100us,1gbit", "train": "--hidden 64 --fanout 10,25 --batch 1000 --epochs 2"},
}
CHANGING = {  # starts that are looked at under a link that changes, and the epochs of those runs
    "npm_deps": (["window:16", "window:1", "lru", "a tenth of the rows"], 18),
    "debian_bookworm": (["window:16", "window:1", "lru", "a tenth of the rows"], 18),
    "generated": (["window:16"], 5),
}
SLOW_EPOCHS = 3      # of runs under the slow link alone
MARGIN = 10          # seconds before the end from which on nothing is begun


class Figures:
    """All runs, by graph; what they left is kept in `kept`."""

    def __init__(self, options):
        self.o = options
        self.rudder = str(pathlib.Path(options.rudder).resolve())
        self.work = pathlib.Path(options.work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.end = time.monotonic() + 60 * options.minutes - MARGIN
        cores = sorted(os.sched_getaffinity(0))[:options.cores or None]
        self.lanes = Lanes(cores, options.per_run, self.end)
        self.lock = threading.Lock()
        self.took = {}   # seconds that runs of a kind took: (graph, link, share) to the longest
        self.kept = {}   # (graph, share, policy, repeat) to what is kept of a run
        self.rows = {}   # (graph, share) to rows by member, replayed over the whole trace
        self.replayed = {}  # (graph, share, policy) to the same of what bandit left and took
        self.timed = {}  # (graph, share, setting as told, repeat) to a run
        self.changing = {}  # (graph, start) to a run
        self.slow = {}   # (graph, share, member) to a run
        self.digests = {}
        self.prepared = {}
        self.names = itertools.count()

    # --- one command ---

    def call(self, lane, *words):
        left = self.end - time.monotonic()
        if left <= 0:
            raise Late
        try:
            done = subprocess.run(["taskset", "-c", lane, self.rudder, *map(str, words)], capture_output=True, text=True,
                                  timeout=left)
        except subprocess.TimeoutExpired:
            raise Late from None
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def shape(self, graph):
        return {**SHAPES[graph], **({"train": self.o.train} if self.o.train else {}),
                **({"link": self.o.link} if self.o.link else {})}

    def size(self, share):
        return f"{self.o.buffer * share:g}"

    def prepare(self, lane, graph):
        whole, parts = self.work / graph, self.work / f"{graph}-{RANKS}"
        begun = time.monotonic()
        if graph == "generated":
            self.call(lane, "generate", "sbm", whole, "--vertices", self.o.vertices, "--quiet", "--force")
        else:
            self.call(lane, "import", pathlib.Path(self.o.data) / f"{graph}.npz", whole, *live.IMPORT[graph], "--quiet",
                      "--force")
        self.call(lane, "partition", whole, parts, "--parts", RANKS, "--quiet", "--force")
        shutil.rmtree(whole, ignore_errors=True)
        self.prepared[graph] = round(time.monotonic() - begun, 1)

    def train(self, lane, graph, share, words, link=None, train=None, trace=None):
        """What is kept of a run."""
        shape = self.shape(graph)
        out = self.work / f"run-{next(self.names)}"
        link = link or shape["link"]
        # A thread to a rank; what waits needs no core of its own.
        options = ["train", self.work / f"{graph}-{RANKS}", *live.COMMON.split(), *(train or shape["train"]).split(), "--threads",
                   1, "--buffer", self.size(share), "--link", link, *words]
        begun = time.monotonic()
        try:
            summary = json.loads(self.call(lane, *options, "--out", out, *(["--trace"] if trace else [])))
            kept = {"steps": [[*step[:2], round(step[2], 6), round(step[3], 6)] for step in live.by_step(out)], "agent": summary["agent"], "cpu": summary["seconds"]["cpu"],
                    "policy_cpu": summary["seconds"]["policy"], "buffer_rows": summary["buffer_rows"],
                    "took": round(time.monotonic() - begun, 2), "cores": lane, "command": " ".join(map(str, options[2:]))}
            if summary["agent"]["name"].startswith("bandit"):
                kept["taken"] = live.taken(out)
            if trace:
                shutil.move(out / "trace", trace)
        finally:
            shutil.rmtree(out, ignore_errors=True)
        with self.lock:
            of_shape = (graph, train or shape["train"])
            if self.digests.setdefault(of_shape, summary["loss"]["digest"]) != summary["loss"]["digest"]:
                raise RuntimeError(f"{graph}: digest {summary['loss']['digest']} of {' '.join(words)}, not that of the first run")
            key = (graph, link, share)
            self.took[key] = max(self.took.get(key, 0), kept["took"])
        return kept

    def expected(self, graph, share, link=None):
        return lambda: self.took.get((graph, link or self.shape(graph)["link"], share), 0)

    # --- what is run, each thing telling what comes after it ---

    def begin(self):
        # What has to be made first and takes longest comes first.
        for graph in sorted(self.o.graphs, key=lambda graph: graph != "generated"):
            self.lanes.add(-1, f"{graph}: prepare", lambda lane, graph=graph: self.first(lane, graph))

    def first(self, lane, graph):
        self.prepare(lane, graph)
        shares = sorted({live.STARTS[start][1] for start in self.o.starts}, reverse=True)

        def traced(lane):
            trace = self.work / f"{graph}-trace"
            run = self.train(lane, graph, 1, self.words("window:16", "bandit"), trace=trace)
            self.kept[graph, 1, "window:16", 0] = run
            for share in shares:
                self.lanes.add(1, f"{graph}, {share}: the class by replay",
                               lambda lane, share=share: self.replay_class(lane, graph, share))
            self.add_judging(graph, 1, run)
            if self.o.mode != "start" and graph in CHANGING:
                self.add_changing(graph, sum(step[0] == 0 for step in run["steps"]))
        self.lanes.add(0, f"{graph}: bandit from window:16, traced", traced)
        for repeat in range(self.o.repeat):
            for start in self.o.starts:
                if (start, repeat) != ("window:16", 0):
                    self.add_bandit(graph, start, repeat)

    @staticmethod
    def words(policy, agent):
        return ["--policy", policy, "--agent", agent]

    def add_bandit(self, graph, start, repeat):
        policy, share = live.STARTS[start]

        def work(lane):
            self.kept[graph, share, key, repeat] = run = self.train(lane, graph, share, self.words(policy, "bandit"))
            self.add_judging(graph, share, run)
        key = policy if share == 1 else start
        self.lanes.add(2 if repeat == 0 else 4 + repeat, f"{graph}: bandit from {start}, {repeat + 1}", work,
                       self.expected(graph, share))

    def replay_class(self, lane, graph, share):
        members = [member for member in self.o.rivals if member not in ("threshold", *NOT_IN_TRACES)]
        lines = self.replay(lane, graph, share, members, "never")
        rows = dict(zip(members, lines))
        if "threshold" in self.o.rivals:
            rows["threshold"], = self.replay(lane, graph, share, ["scored"], "threshold")
        self.rows[graph, share] = rows
        fewest = min(rows.values())
        contenders = [m for m in sorted(rows, key=rows.get) if rows[m] <= NEAR_FEWEST * fewest][:MOST_CONTENDERS]
        contenders += [member for member in NOT_IN_TRACES if member in self.o.rivals]
        left = {"singles": len(contenders)}
        for member in contenders:
            self.lanes.add(3, f"{graph}, {share}: {member} alone",
                           lambda lane, member=member: self.single(lane, graph, share, member, contenders, left),
                           self.expected(graph, share))

    def replay(self, lane, graph, share, policies, agent):
        asked = [word for policy in policies for word in ("--policy", policy)]
        lines = json.loads(self.call(lane, "replay", self.work / f"{graph}-trace", *asked, "--buffer", self.size(share),
                                     "--agent", agent, "--threads", CORES_PER_RUN, "--json", "--quiet"))
        return [line["demand"] + line["replacement"] + line["ahead"] for line in lines]

    def alone(self, lane, graph, share, member, **more):
        agent = "threshold" if member == "threshold" else "never"
        policy = "scored" if member == "threshold" else member
        return self.train(lane, graph, share, self.words(policy, agent), **more)

    def single(self, lane, graph, share, member, contenders, left):
        self.kept[graph, share, f"alone {member}", 0] = self.alone(lane, graph, share, member)
        with self.lock:
            left["singles"] -= 1
            if left["singles"] != 0:
                return
        stall = {m: live.Figures([self.kept[graph, share, f"alone {m}", 0]]).stall for m in contenders
                 if (graph, share, f"alone {m}", 0) in self.kept}
        for member in sorted(stall, key=stall.get)[:FINALISTS]:
            for repeat in range(1, self.o.repeat):
                def work(lane, member=member, repeat=repeat):
                    self.kept[graph, share, f"alone {member}", repeat] = self.alone(lane, graph, share, member)
                self.lanes.add(4 + repeat, f"{graph}, {share}: {member} alone, {repeat + 1}", work,
                               self.expected(graph, share))
        if self.o.mode != "start" and share in self.changing_shares(graph):
            for member in sorted(stall, key=stall.get)[:FINALISTS]:
                self.lanes.add(6, f"{graph}, {share}: {member} alone under the slow link",
                               lambda lane, member=member: self.under_slow(lane, graph, share, member))

    # --- a link that changes ---

    def changing_starts(self, graph):
        return [start for start in CHANGING[graph][0] if start in self.o.starts]

    def changing_shares(self, graph):
        return {live.STARTS[start][1] for start in self.changing_starts(graph)}

    def epochs(self, graph, epochs):
        return live.re.sub(r"--epochs \d+", f"--epochs {epochs}", self.shape(graph)["train"])

    def under_slow(self, lane, graph, share, member):
        self.slow[graph, share, member] = self.alone(lane, graph, share, member, link=live.slower(self.shape(graph)["link"]),
                                                     train=self.epochs(graph, SLOW_EPOCHS if graph != "generated" else 2))

    def add_changing(self, graph, steps_per_epoch):
        epochs = self.o.epochs or CHANGING[graph][1]
        count = epochs * steps_per_epoch
        falls, back, link = count // 3, 2 * count // 3, self.shape(graph)["link"]
        changing = f"{link};step:{falls}:{live.slower(link)};step:{back}:{link}"
        for start in self.changing_starts(graph):
            def work(lane, start=start):
                policy, share = live.STARTS[start]
                run = self.train(lane, graph, share, self.words(policy, "bandit"), link=changing,
                                 train=self.epochs(graph, epochs))
                self.changing[graph, start] = {**run, "falls": falls, "back": back}
            self.lanes.add(5, f"{graph}: bandit from {start} under a link that changes", work, 15)

    # --- what was taken ---

    def add_judging(self, graph, share, run):
        """Whatever a run took: policies by replay, the knobs of time by runs of both sides."""
        for change in run["taken"]:
            if change["reason"] != "timed_better":
                for side in ("left", "took"):
                    self.judge_policy(graph, share, change[side]["policy"])
                continue
            for repeat in range(JUDGED):
                for side in ("left", "took"):
                    self.judge_timed(graph, share, change[side], repeat)

    def judge_policy(self, graph, share, policy):
        key = (graph, share, policy)
        with self.lock:
            if policy in self.o.rivals or self.replayed.setdefault(key, 0) != 0:  # the class is replayed anyway
                return
            self.replayed[key] = None

        def work(lane):
            self.replayed[key], = self.replay(lane, graph, share, [policy], "never")
        self.lanes.add(3, f"{graph}, {share}: replay of {policy}", work)

    def judge_timed(self, graph, share, setting, repeat):
        key = (graph, share, live.told(setting), repeat)
        with self.lock:
            if self.timed.setdefault(key, 0) != 0:
                return
            self.timed[key] = None

        def work(lane):
            words = ["--policy", setting["policy"], *live.held(self.work, setting)]
            self.timed[key] = self.train(lane, graph, share, words)
        self.lanes.add(6 + repeat, f"{graph}, {share}: {live.told(setting)} held, {repeat + 1}", work, self.expected(graph, share))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rudder", default="build/release/src/cli/rudder")
    parser.add_argument("--data", default="../shared/data", help="folder of npm_deps.npz and the like")
    parser.add_argument("--work", default="build/live-figures", help="folder for graphs and runs")
    parser.add_argument("--out", required=True, help="folder for figures.json and figures.md")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--mode", choices=["start", "all"], default="all")
    parser.add_argument("--graphs", type=live.listed_in(SHAPES), default=list(SHAPES), help="some, joined by ;")
    parser.add_argument("--starts", type=live.listed_in(live.STARTS), default=live.USUAL_STARTS, help="some, joined by ;")
    parser.add_argument("--rivals", type=live.listed_in(live.CLASS), default=live.CLASS, help="some of the class, joined by ;")
    parser.add_argument("--buffer", type=float, default=0.25)
    parser.add_argument("--vertices", type=int, default=1_000_000, help="of the generated graph")
    parser.add_argument("--repeat", type=int, default=REPEATS)
    parser.add_argument("--cores", type=int, help="as many at most (default: all that this process may use)")
    parser.add_argument("--per-run", type=int, default=CORES_PER_RUN, help="cores of a run")
    parser.add_argument("--link", help="for all graphs, in place of their own")
    parser.add_argument("--train", help="options of training for all graphs, in place of their own")
    parser.add_argument("--epochs", type=int, help="of runs under a link that changes")
    options = parser.parse_args()
    if "window:16" not in options.starts:
        sys.exit("error: --starts: window:16 is missing, whose run is traced")
    figures = Figures(options)
    figures.begin()
    figures.lanes.run()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    result = Tables(figures).figures()
    text = "\n".join(text_of(result)) + "\n"
    (out / "figures.json").write_text(json.dumps(result))
    (out / "figures.md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
