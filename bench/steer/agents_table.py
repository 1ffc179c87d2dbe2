#!/usr/bin/env python3
"""Runs agents over a trace, or live, and prints the table of docs/agents.md.

    agents_table.py RUDDER TRACE [FRACTION [POLICY [AGENT...]]] [--starts POLICY;...] [--models PREFIX] [-- OPTION...]
    agents_table.py RUDDER PARTS --live [...] -- --ranks 4 --ranks-per-host 1 --link 100us,1gbit --epochs 16 ...

Without AGENT all are run that need no file, and with --models the classifiers that lie at PREFIX-repaired-KIND.model and
PREFIX-faithful-KIND.model, as classifiers_table.py leaves them in its --work folder. The first line is the built-in rule: every:16
where the policy waits to be told, else the policy by itself (never), and then agents are left out that only say when to replace.
--starts, joined by ;, takes the place of POLICY: the lines of each follow each other, under its name.
What follows -- goes to `rudder replay` (--llm-url and the like).

With --live each agent steers a training run of its own on the partition PARTS, with what follows -- as options of `rudder train`: rows
are those of the run, regret is what the run counted of it, and there are seconds: of an epoch (median), and of stall, over all ranks.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

BUILT_IN = "every:16"
AGENTS = ["never", "always", "every:1", "every:4", "every:32", "threshold:0.5", "random:0.1", "bandit,knobs:decide", "bandit",
          "mixture:every:4+never+random:0.5", "llm", "llm,faithful"]
SETTERS = ["bandit", "llm"]  # of them, those that set knobs
TOLD = ["scored", "scored-faithful"]  # policies that wait to be told when to replace
KINDS = ["lr", "svm", "rf", "xgb", "mlp", "tabnet"]
HEAD = ["agent", "rows", "of the built-in rule", "regret", "no worse than otherwise", "Pass@1", "decisions", "steps between",
        "latency", "late or invalid"]
SECONDS = ["s per epoch", "s of stall"]


def classifiers(prefix):
    """Those that are there, by the name that the table shows."""
    found = {}
    for kind in KINDS:
        for variant, more in (("repaired", ""), ("faithful", ",faithful")):
            model = pathlib.Path(f"{prefix}-{variant}-{kind}.model")
            if model.exists():
                found[f"{kind}:{model}{more}"] = f"{kind}{more}"
    return found


def run(rudder, *words):
    done = subprocess.run([rudder, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(done.args)}\n{done.stderr}")
    return json.loads(done.stdout)


def decided(rudder, folder, texts):
    """The cells of an agent's decisions."""
    if not texts:
        return ["", "", "0", "", "", ""]
    log = folder / "one.jsonl"
    log.write_text("".join(texts))
    score, = run(rudder, "agent", "score", str(log), "--json")
    decisions = [json.loads(text) for text in texts]
    judged = score["counterfactual"]
    passed = (score["pass_at_1"] or {}).get("hit_rate")
    hosts = len({d["rank"] for d in decisions})
    steps = max(d["step"] for d in decisions) + 1
    return [f"{judged['share']:.1%}" if judged else "", f"{passed['share']:.1%}" if passed else "", f"{len(decisions):,}",
            f"{steps * hosts / len(decisions):.1f}",
            f"{statistics.median(d['latency'] for d in decisions) * 1e6:,.0f} us", f"{score['late'] + score['invalid']}"]


def agents_of(options, policy):
    """The agents to run from there, by what the table calls them; the built-in rule first."""
    told = policy in TOLD
    chosen = options.agents or (AGENTS if told else SETTERS)
    names = {agent: agent for agent in [BUILT_IN if told else "never", *chosen]}
    if options.models and told:
        names.update(classifiers(options.models))
    return names


def by_agent(log, agents):
    texts = {agent: [] for agent in agents}
    if log.exists():
        with open(log) as file:
            for text in file:
                texts[json.loads(text)["agent"]].append(text)
    return texts


def fetched(rows):
    return rows["demand"] + rows["replacement"] + rows["ahead"]


def replayed(options, more, policy, names, folder):
    """Rows, regret, the texts of its decisions and no seconds, of each agent; the class that regret is against is replayed once."""
    log = folder / "decisions.jsonl"
    log.unlink(missing_ok=True)
    asked = [word for agent in names for word in ("--agent", agent)]
    lines = run(options.rudder, "replay", options.trace, "--buffer", options.fraction, "--policy", policy, *asked, *more,
                "--log", str(log), "--json", "--quiet")
    texts = by_agent(log, [line["agent"] for line in lines])
    for line in lines:
        yield fetched(line), line["regret"], texts[line["agent"]], []


def trained(options, more, policy, names, folder):
    """The same of a live run each, with its seconds."""
    for agent in names:
        out = folder / "run"
        summary = run(options.rudder, "train", options.trace, "--buffer", options.fraction, "--policy", policy, "--agent", agent,
                      *more, "--out", str(out), "--force", "--json", "--quiet")
        log = out / "decisions.jsonl"
        texts = log.read_text().splitlines(keepends=True) if log.exists() else []
        seconds = summary["seconds"]
        yield fetched(summary["rows"]), summary["agent"].get("regret"), texts, [f"{seconds['epoch']:.3f}", f"{seconds['stall']:.3f}"]


def table(options, more):
    """The lines."""
    starts = options.starts or [options.policy]
    head = (["start"] if options.starts else []) + HEAD[:2] + (SECONDS if options.live else []) + HEAD[2:]
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for policy in starts:
            names = agents_of(options, policy)
            first = None
            for shown, (rows, regret, texts, seconds) in zip(
                    names.values(), (trained if options.live else replayed)(options, more, policy, names, folder)):
                first = rows if first is None else first
                cells = ([f"`{policy}`"] if options.starts else []) + [f"`{shown}`", f"{rows:,}", *seconds, f"{rows / max(1, first):.3f}",
                                                                      "" if regret is None else f"{regret:+.1%}"]
                yield "| " + " | ".join(cells + decided(options.rudder, folder, texts)) + " |"


def main():
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rudder")
    parser.add_argument("trace")
    parser.add_argument("fraction", nargs="?", default="0.25", help="of the halo: the buffer's size")
    parser.add_argument("policy", nargs="?", default="scored-faithful")
    parser.add_argument("agents", nargs="*")
    parser.add_argument("--starts", type=lambda text: [word for word in text.split(";") if word], help="policies to start from, joined by ;")
    parser.add_argument("--live", action="store_true", help="train with each agent instead of replaying a trace")
    parser.add_argument("--models", help="what the files of classifiers begin with")
    options = parser.parse_args(arguments[:at])
    for line in table(options, arguments[at + 1:]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
