#!/usr/bin/env python3
"""What `bandit`, or another agent, makes of live runs: its cost over the best fixed setting, and how fast it follows a link.

    bench/steer/live_bandit.py --rudder build/release/src/cli/rudder --data ../shared/data

Every graph is in 4 parts, on 4 ranks that are a host each, with --link, so that cost means exposed seconds
(design.md, section 7). `--mode start` runs `train --agent AGENT` (`--agent`, bandit) from each start and every member of the
declared class (agents.md, "Excess and regret") by itself, and prints, of the steps after the first epoch: rows,
and stall summed over the ranks, each beside the least of the class (which may be two members); what stall
exceeds the least by, as a share of the time of a step; the changes that were taken and the agent's share of the
CPU. A change taken for rows was wrong where the policy it took fetches over 0.5 % more than the one it left, both
replayed over the run's own trace; one taken on the clock, where a run in the setting it took stalls over 0.5 %
longer than one in the setting it left. Each is listed.

`--mode link` lets the link fall to a tenth after a third of the steps and come back after two thirds, and prints the
steps until the mean time of 16 steps is within 5 % of that of the best member under the link as it then is.

`--starts` and `--graphs` know more than they take by themselves: `scored-faithful`, and `coauthor_phy`.

A tenth of the rows means a tenth of --buffer: a start below the configured size cannot be expressed, so there the
class has that size, too. Results are kept in --work, one file per run: a second call goes on where the first was
stopped. Seconds need a quiet machine with 4 cores or more, and are medians of --repeat runs; rows do not.
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

RANKS = 4
COMMON = f"--ranks {RANKS} --ranks-per-host 1 --eval-every 0 --checkpoint-every 0 --no-tensorboard --quiet --json"
GRAPHS = {
    "npm_deps": "--hidden 64 --fanout 10,25 --batch 250 --epochs 16",
    "debian_bookworm": "--hidden 64 --fanout 10,25 --batch 250 --epochs 16",
    "generated": "--hidden 64 --fanout 10,25 --batch 1000 --epochs 4",
    "coauthor_phy": "--hidden 64 --fanout 10,25 --batch 125 --epochs 16",
}
USUAL_GRAPHS = ["npm_deps", "debian_bookworm", "generated"]
IMPORT = {"npm_deps": ["--features", "structure:100"], "debian_bookworm": [], "coauthor_phy": ["--row-normalise"]}
SCORED = [f"scored,every:{every}" for every in (1, 2, 4, 8, 16, 32)]
CLASS = ["none", "static-degree", "static-vip", "static-random", "lru", "lfu", *SCORED, "threshold",
         *(f"window:{window}" for window in (4, 8, 16, 32, 64))]
STARTS = {"window:16": ("window:16", 1), "window:1": ("window:1", 1), "lru": ("lru", 1),
          "a tenth of the rows": ("window:16", 0.1), "scored-faithful": ("scored-faithful", 1)}
USUAL_STARTS = ["window:16", "window:1", "lru", "a tenth of the rows"]
TOLERATED = 0.005   # of the cost, by which a setting that was taken may be worse
NEAR = 0.05         # of the time of a step
SMOOTHED = 16       # steps
TIMED = {"bulk": 0, "sample_threads": 1, "fetch_threads": 1, "demand_first": 1, "in_flight": 2, "buckets": 0}  # as runs begin
TAKEN = ("shadow_better", "timed_better")  # by bandit, for good; what other agents set is meant so


def slug(text):
    return "".join(c if c.isalnum() else "_" for c in text)


def slower(link):
    """The same delay, a tenth of the rate: 100us,1gbit becomes 100us,0.1gbit."""
    delay, number, unit = re.fullmatch(r"([^,]+),([0-9.]+)(\D+)", link).groups()
    return f"{delay},{float(number) / 10:g}{unit}"


def lines_of(path):
    with open(path) as file:
        for text in file:
            yield json.loads(text)


# --- What a run leaves ------------------------------------------------------------------------------------------


def by_step(folder):
    """Of every step, over the ranks: epoch, rows, stall in all, and the mean time it took."""
    steps = {}
    for line in lines_of(folder / "metrics.jsonl"):
        rows, seconds = line["rows"], line["seconds"]
        step = steps.setdefault(line["step"], [line["epoch"], 0, 0.0, 0.0, 0])
        step[1] += rows["demand"] + rows["replacement"] + rows["ahead"]
        step[2] += seconds["stall"]
        step[3] += seconds["step"]
        step[4] += 1
    return [[e, rows, stall, time / ranks] for _, (e, rows, stall, time, ranks) in sorted(steps.items())]


def settings(folder):
    """The knobs of every rank and step."""
    return {(line["rank"], line["step"]): line["knobs"] for line in lines_of(folder / "metrics.jsonl")}


def taken(folder, agent="bandit"):
    """The changes that were taken for good, each with the settings it left and took."""
    knobs = settings(folder)
    changes = []
    for line in lines_of(folder / "decisions.jsonl"):
        at = (line["rank"], line["effective_step"])
        if line["action"]["action"] != "set" or at not in knobs:
            continue
        if agent.startswith("bandit") and line["reason"] not in TAKEN:
            continue
        if line["status"] == "refused":
            continue
        before = knobs.get((at[0], at[1] - 1), knobs[at])
        changes.append({"step": at[1], "rank": at[0], "reason": line["reason"], "note": line.get("note", ""),
                        "status": line["status"], "left": setting(before), "took": setting(knobs[at])})
    return changes


def setting(knobs):
    """What decides its cost, of the knobs of a step."""
    return {"policy": knobs["policy"], **{name: knobs.get(name, usual) for name, usual in TIMED.items()}}


def of_time(one):
    """The knobs of time that a setting does not have as runs begin."""
    return {name: one[name] for name, usual in TIMED.items() if one[name] != usual}


def told(one):
    return " ".join([one["policy"], *(f"{name} {value}" for name, value in of_time(one).items())])


def held(folder, one):
    """Options by which a run has a setting's knobs of time from its first step on; a file of them is left in the folder."""
    knobs = of_time(one)
    if not knobs:
        return ["--agent", "never"]
    path = folder / f"{slug(told({**one, 'policy': 'knobs'}))}.jsonl"
    path.write_text(json.dumps({"step": 0, "action": {"action": "set", "knobs": knobs}}) + "\n")
    return ["--agent", f"schedule:{path}", *(["--agent-scope", "job"] if "buckets" in knobs else [])]


class Figures:
    """The cost of a run after its first epoch; of several that are alike, the median of each number."""

    def __init__(self, runs):
        later = [[step for step in kept["steps"] if step[0] > 0] or kept["steps"] for kept in runs]
        self.rows = round(statistics.median(sum(step[1] for step in steps) for steps in later))
        self.stall = statistics.median(sum(step[2] for step in steps) for steps in later)
        self.time = statistics.median(sum(step[3] for step in steps) / len(steps) for steps in later)
        self.steps = len(later[0])


# --- Runs -------------------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, options):
        self.rudder = str(pathlib.Path(options.rudder).resolve())
        self.options = options
        self.work = pathlib.Path(options.work).resolve()
        self.digests = {}  # by graph
        self.results = self.work / "results"
        self.results.mkdir(parents=True, exist_ok=True)

    def call(self, *words):
        done = subprocess.run([self.rudder, *words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(done.args)}\n{done.stderr}")
        return done.stdout

    def named(self, graph):
        return f"{graph}-{self.options.vertices}" if graph == "generated" else graph

    def parts(self, graph):
        folder = self.work / f"{self.named(graph)}-{RANKS}"
        if not folder.exists():
            whole = self.work / self.named(graph)
            shutil.rmtree(whole, ignore_errors=True)
            if graph == "generated":
                self.call("generate", "sbm", str(whole), "--vertices", str(self.options.vertices), "--quiet")
            else:
                archive = pathlib.Path(self.options.data) / f"{graph}.npz"
                self.call("import", str(archive), str(whole), *IMPORT[graph], "--quiet")
            self.call("partition", str(whole), str(folder), "--parts", str(RANKS), "--quiet")
        return str(folder)

    def kept(self, name, make):
        path = self.results / f"{slug(name)}.json"
        if not path.exists():
            value = make()
            part = path.with_suffix(".part")
            part.write_text(json.dumps(value))
            part.rename(path)
        return json.loads(path.read_text())

    def trained(self, graph, link, share, words, trace=False):
        """As many runs as are asked for."""
        return [self.train(graph, link, share, words, trace, number) for number in range(self.options.repeat)]

    def train(self, graph, link, share, words, trace=False, number=0):
        """What is kept of a run; `share` is of --buffer."""
        size = f"{self.options.buffer * share:g}"

        def make():
            print(f"  {graph}, buffer {size}, {link}: {' '.join(words)}", file=sys.stderr, flush=True)
            out = self.work / "run"
            shutil.rmtree(out, ignore_errors=True)
            of_graph = self.options.train or GRAPHS[graph]
            summary = json.loads(self.call(
                "train", self.parts(graph), *COMMON.split(), *of_graph.split(), "--buffer", size, "--link", link,
                *words, "--out", str(out), *(["--trace"] if trace else [])))
            kept = {"steps": by_step(out), "digest": summary["loss"]["digest"], "agent": summary["agent"],
                    "command": " ".join(words)}
            if trace:
                kept["taken"] = taken(out, self.options.agent)
                kept["replayed"] = self.replayed(out, size, kept["taken"])
            shutil.rmtree(out)
            return kept
        key = [self.named(graph), self.options.train or GRAPHS[graph], size, link, *words]
        kept = self.kept(" ".join(key) + (" traced" if trace else "") + (f" again {number}" if number else ""), make)
        # Nobody who steers changes a result.
        first = self.digests.setdefault(graph, kept["digest"])
        if kept["digest"] != first:
            sys.exit(f"{graph}: digest {kept['digest']} of {' '.join(words)}, {first} of the runs before")
        return kept

    def replayed(self, run, size, changes):
        """Rows of the policies that were left or taken, over the run's own trace."""
        policies = sorted({one[side]["policy"] for one in changes for side in ("left", "took")})
        rows = {}
        for policy in policies:
            line, = json.loads(self.call("replay", str(run), "--policy", policy, "--buffer", size, "--agent", "never",
                                         "--json", "--quiet"))
            rows[policy] = line["demand"] + line["replacement"] + line["ahead"]
        return rows

    def alone(self, graph, link, share, member):
        """A member of the class by itself, each time."""
        agent = "threshold" if member == "threshold" else "never"
        policy = "scored" if member == "threshold" else member
        return self.trained(graph, link, share, ["--policy", policy, "--agent", agent])

    def rivals(self, graph, link, share):
        return {member: Figures(self.alone(graph, link, share, member)) for member in self.options.rivals}

    def stalls_in(self, graph, link, share, one):
        words = ["--policy", one["policy"], *held(self.work, one)]
        return Figures(self.trained(graph, link, share, words)).stall



# --- From each start --------------------------------------------------------------------------------------------


def wrong(bench, graph, link, share, run):
    """Changes that hindsight says were for the worse, as text."""
    found = []
    for one in run["taken"]:
        if one["reason"] != "timed_better":
            left, took = (run["replayed"][one[side]["policy"]] for side in ("left", "took"))
            unit = "rows"
        else:
            left, took = (bench.stalls_in(graph, link, share, one[side]) for side in ("left", "took"))
            unit = "s of stall"
        if took <= (1 + TOLERATED) * left:
            continue
        found.append(f"rank {one['rank']}, step {one['step']}: {told(one['left'])} to {told(one['took'])}: "
                     f"{took:,.6g} instead of {left:,.6g} {unit} ({one['status']})")
    return found


def start_line(bench, graph, start):
    """A line of the table, and the changes that were wrong."""
    link = bench.options.link
    policy, share = STARTS[start]
    runs = bench.trained(graph, link, share, ["--policy", policy, "--agent", bench.options.agent], trace=True)
    rivals = bench.rivals(graph, link, share)
    fewest, rows = min(((m, f.rows) for m, f in rivals.items()), key=lambda pair: pair[1])
    least, best = min(rivals.items(), key=lambda pair: pair[1].stall)
    mine = Figures(runs)
    over = (mine.stall - best.stall) / RANKS / mine.steps / best.time
    bad = [text for run in runs for text in wrong(bench, graph, link, share, run)]
    shares = [run["agent"]["cpu_share"] for run in runs if run["agent"]["cpu_share"] is not None]
    cells = [graph, start, f"{mine.rows:,}", f"{mine.rows / max(1, rows):.3f} of `{fewest}`", f"{mine.stall:.3f}",
             f"{best.stall:.3f} (`{least}`)", f"{mine.stall / max(1e-9, best.stall):.3f}", f"{over:+.2%}",
             sum(len(run["taken"]) for run in runs), len(bad), f"{statistics.median(shares):.2%}" if shares else ""]
    return "| " + " | ".join(map(str, cells)) + " |", bad


def from_starts(bench):
    print("| graph | start | rows | over the fewest of the class | stall, s | the least of the class, s | over it "
          "| more than it, of a step | changes taken | of them wrong | agent's share of CPU |")
    print("|" + " --- |" * 11)
    listed = []
    for graph in bench.options.graphs:
        for start in bench.options.starts:
            line, bad = start_line(bench, graph, start)
            print(line, flush=True)
            listed += [f"{graph}, {start}: {text}" for text in bad]
    print("\nTaken, and worse in hindsight by over 0.5 %:" if listed else
          "\nNothing was taken that is worse in hindsight by over 0.5 %.")
    for text in listed:
        print(f"- {text}")


# --- A link that changes ----------------------------------------------------------------------------------------


def near_after(times, begin, end, best):
    """Steps from `begin` until a mean of SMOOTHED steps is within NEAR of the best; None: not before `end`."""
    for step in range(begin, end - SMOOTHED + 1):
        if sum(times[step:step + SMOOTHED]) / SMOOTHED <= (1 + NEAR) * best:
            return step - begin
    return None


def fastest(rivals):
    return min(rivals.items(), key=lambda pair: pair[1].time)


def link_line(bench, graph, start):
    link, slow = bench.options.link, slower(bench.options.link)
    policy, share = STARTS[start]
    words = ["--policy", policy, "--agent", bench.options.agent]
    all_rivals = {each: bench.rivals(graph, each, share) for each in (link, slow)}
    count = len(bench.alone(graph, link, share, bench.options.rivals[0])[0]["steps"])
    falls, back = count // 3, 2 * count // 3
    changing = f"{link};step:{falls}:{slow};step:{back}:{link}"
    run = bench.train(graph, changing, share, words)
    times = [step[3] for step in run["steps"]]
    cells = [graph, start]
    for where, begin, end in ((slow, falls, back), (link, back, count)):
        name, best = fastest(all_rivals[where])
        steps = near_after(times, begin, end, best.time)
        cells += [f"`{name}`, {best.time * 1e3:.2f} ms", f"not in {end - begin}" if steps is None else steps]
    changed = sum("the run changed" in text and "the run changed 0 times" not in text for text in run["agent"]["learned"])
    return "| " + " | ".join(map(str, [*cells, f"{changed} of {len(run['agent']['learned'])}"])) + " |"


def with_links(bench):
    print(f"| graph | start | best at {slower(bench.options.link)} | steps until within 5 % "
          f"| best at {bench.options.link} | steps until within 5 % | agents that noticed |")
    print("|" + " --- |" * 7)
    for graph in bench.options.graphs:
        for start in bench.options.starts:
            print(link_line(bench, graph, start), flush=True)


def listed_in(known):
    def read(text):
        words = [word for word in text.split(";") if word]
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"'{word}'; use some of: {'; '.join(known)}")
        return words
    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rudder", default="build/release/src/cli/rudder")
    parser.add_argument("--data", default="../shared/data", help="folder of npm_deps.npz and the like")
    parser.add_argument("--agent", default="bandit", help="bandit, llm:built-in or any other")
    parser.add_argument("--work", default="build/live-bandit", help="folder for graphs and results, which are kept")
    parser.add_argument("--mode", choices=["start", "link", "all"], default="all")
    parser.add_argument("--graphs", type=listed_in(GRAPHS), default=USUAL_GRAPHS, help="some, joined by ;")
    parser.add_argument("--starts", type=listed_in(STARTS), default=USUAL_STARTS, help="some, joined by ;")
    parser.add_argument("--rivals", type=listed_in(CLASS), default=CLASS, help="some of the class, joined by ;")
    parser.add_argument("--link", default="100us,100mbit")
    parser.add_argument("--buffer", type=float, default=0.25)
    parser.add_argument("--vertices", type=int, default=1_000_000, help="of the generated graph")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each kind, of whose seconds medians are taken")
    parser.add_argument("--train", help="options of training for all graphs, in place of their own")
    bench = Bench(parser.parse_args())
    if bench.options.mode != "link":
        from_starts(bench)
    if bench.options.mode == "all":
        print()
    if bench.options.mode != "start":
        with_links(bench)


if __name__ == "__main__":
    main()
