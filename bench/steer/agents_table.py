#!/usr/bin/env python3
"""Runs agents over a trace and prints the table of docs/agents.md.

    agents_table.py RUDDER TRACE [FRACTION [POLICY [AGENT...]]] [--models PREFIX] [-- OPTION...]

Without AGENT all are run that need no file, and with --models the classifiers that lie at PREFIX-repaired-KIND.model and
PREFIX-faithful-KIND.model, as classifiers_table.py leaves them in its --work folder. The first line is the built-in rule, every:16.
What follows -- goes to `rudder replay` (--llm-url and the like).
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
KINDS = ["lr", "svm", "rf", "xgb", "mlp", "tabnet"]
HEAD = ["agent", "rows", "of the built-in rule", "regret", "no worse than otherwise", "Pass@1", "decisions", "steps between",
        "latency", "late or invalid"]


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


def table(options, more):
    """The lines; the class that regret is against is replayed once for all of them."""
    names = {agent: agent for agent in [BUILT_IN, *options.agents]}
    if options.models:
        names.update(classifiers(options.models))
    yield "| " + " | ".join(HEAD) + " |"
    yield "|" + " --- |" * len(HEAD)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        log = folder / "decisions.jsonl"
        asked = [word for agent in names for word in ("--agent", agent)]
        lines = run(options.rudder, "replay", options.trace, "--buffer", options.fraction, "--policy", options.policy, *asked, *more,
                    "--log", str(log), "--json", "--quiet")
        texts = {line["agent"]: [] for line in lines}
        if log.exists():
            with open(log) as file:
                for text in file:
                    texts[json.loads(text)["agent"]].append(text)
        fetched = [line["demand"] + line["replacement"] + line["ahead"] for line in lines]
        for shown, line, rows in zip(names.values(), lines, fetched):
            cells = [f"`{shown}`", f"{rows:,}", f"{rows / max(1, fetched[0]):.3f}", f"{line['regret']:+.1%}"]
            yield "| " + " | ".join(cells + decided(options.rudder, folder, texts[line["agent"]])) + " |"


def main():
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rudder")
    parser.add_argument("trace")
    parser.add_argument("fraction", nargs="?", default="0.25", help="of the halo: the buffer's size")
    parser.add_argument("policy", nargs="?", default="scored-faithful")
    parser.add_argument("agents", nargs="*", default=AGENTS)
    parser.add_argument("--models", help="what the files of classifiers begin with")
    options = parser.parse_args(arguments[:at])
    for line in table(options, arguments[at + 1:]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
