#!/usr/bin/env python3
"""Runs agents over a trace and prints the table of docs/agents.md.

    agents_table.py RUDDER TRACE FRACTION POLICY AGENT... [-- OPTION...]

What follows -- goes to `rudder replay` (--llm-url and the like).
"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

arguments = sys.argv[1:]
more = []
if "--" in arguments:
    at = arguments.index("--")
    arguments, more = arguments[:at], arguments[at + 1:]
rudder, trace, fraction, policy, *agents = arguments


def run(*words):
    done = subprocess.run([rudder, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


print("| agent | rows | of the built-in rule | regret | no worse than otherwise | Pass@1 | decisions "
      "| steps between | latency | late or invalid |")
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
with tempfile.TemporaryDirectory() as folder:
    built_in = None
    for agent in ["every:16", *agents]:
        log = Path(folder) / "decisions.jsonl"
        log.unlink(missing_ok=True)
        words = ["replay", trace, "--buffer", fraction, "--policy", policy, "--agent", agent]
        line, = run(*words, *more, "--log", str(log), "--json", "--quiet")
        rows = line["demand"] + line["replacement"] + line["ahead"]
        built_in = built_in or rows
        cells = [f"`{agent}`", f"{rows:,}", f"{rows / built_in:.3f}", f"{line['regret']:+.1%}"]
        if not log.exists() or log.stat().st_size == 0:
            print("| " + " | ".join(cells + ["", "", "0", "", "", ""]) + " |", flush=True)
            continue
        decisions = [json.loads(text) for text in log.read_text().splitlines()]
        score, = run("agent", "score", str(log), "--json")
        judged = score["counterfactual"]
        passed = (score["pass_at_1"] or {}).get("hit_rate")
        hosts = len({d["rank"] for d in decisions})
        steps = max(d["step"] for d in decisions) + 1
        cells += [f"{judged['share']:.1%}" if judged else "",
                  f"{passed['share']:.1%}" if passed else "",
                  f"{len(decisions):,}", f"{steps * hosts / len(decisions):.1f}",
                  f"{statistics.median(d['latency'] for d in decisions) * 1e6:,.0f} us",
                  f"{score['late'] + score['invalid']}"]
        print("| " + " | ".join(cells) + " |", flush=True)
