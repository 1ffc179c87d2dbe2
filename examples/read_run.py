#!/usr/bin/env python3
"""Reads the folder of a run with NumPy, prints what it came to, and draws it.

    examples/read_run.py RUN [OUT.png]

Needs NumPy; draws with matplotlib where that is installed. A run that is still going on, or was cut, is shown as far
as it went.
"""
import json
import pathlib
import sys

import numpy as np

# What a step's time consists of, and the keys in `seconds`: they add up to `step`.
PARTS = {"computing": "compute", "waiting for rows": "wait_rows", "gradients": "wait_gradients",
         "slower ranks": "wait_ranks", "agent": "wait_agent", "rest": "rest"}


def lines(file):
    """The objects of a file of JSON lines; a last line that is still being written is left out."""
    if not file.exists():
        return
    with file.open() as text:
        for line in text:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                return


def read_steps(run):
    """The steps of all ranks as one structured array, in the order they were written."""
    seconds = ("step", *PARTS.values())
    rows = ("needed", "local", "hit", "demand", "replacement", "ahead")
    kind = [("step", int), ("rank", int), ("loss", float)]
    kind += [(name + "_seconds" if name == "step" else name, float) for name in seconds]
    kind += [(name, int) for name in rows]
    return np.array([(line["step"], line["rank"], line["loss"], *(line["seconds"].get(n, 0) for n in seconds),
                      *(line["rows"][n] for n in rows)) for line in lines(run / "metrics.jsonl")], dtype=kind)


def by_step(steps, values):
    """Sums over ranks: the step numbers, and a value for each."""
    numbers, where = np.unique(steps["step"], return_inverse=True)
    return numbers, np.bincount(where, weights=values)


def table(run, steps, decisions, summary):
    """What a person wants to know first."""
    ranks = len(np.unique(steps["rank"]))
    fetched = steps["demand"] + steps["replacement"] + steps["ahead"]
    remote = steps["hit"] + steps["demand"]
    total = steps["step_seconds"].sum()
    out = [("run", str(run)), ("state", "finished" if summary else "not finished"),
           ("steps", f"{len(np.unique(steps['step'])):,} on {ranks} ranks"),
           ("loss", f"{steps['loss'][0]:.4f} at first, {steps['loss'][-1]:.4f} at last")]
    if summary and summary["accuracy"]["test"] is not None:
        out.append(("test accuracy", f"{100 * summary['accuracy']['test']:.2f} %"))
    for words, name in PARTS.items():
        out.append((words, f"{100 * steps[name].sum() / total:.1f} % of the steps' time"))
    out += [("remote rows", f"{remote.sum():,} needed, {fetched.sum():,} fetched"),
            ("hit rate", f"{100 * steps['hit'].sum() / max(1, remote.sum()):.1f} %")]
    if summary and summary["rows"]["floor"]:
        out.append(("of the floor", f"{fetched.sum() / summary['rows']['floor']:.3f}"))
    changes = [d for d in decisions if d["action"]["action"] != "keep"]
    out.append(("decisions", f"{len(decisions)}, of which {len(changes)} changed something"))
    for d in changes[:5]:
        what = d["action"].get("knobs", d["action"]["action"])
        out.append(("", f"step {d['step']}, rank {d['rank']}: {what} ({d['status']})"))
    for name, value in out:
        print(f"{name:16} {value}")


def epochs_table(run):
    for e in lines(run / "epochs.jsonl"):
        scores = ", ".join(f"{k} {100 * v:.2f} %" for k, v in (e.get("accuracy") or {}).items() if v is not None)
        print(f"epoch {e['epoch'] + 1:<10} loss {e['loss']:.4f}, {e['seconds']:.2f} s{', ' if scores else ''}{scores}")


def draw(steps, decisions, out):
    """Loss, where the time went, and rows, over the steps."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    figure, (loss, time, rows) = plt.subplots(3, 1, sharex=True, figsize=(9, 9), constrained_layout=True)
    ranks = len(np.unique(steps["rank"]))
    first = steps[steps["rank"] == steps["rank"].min()]
    loss.plot(first["step"], first["loss"])
    loss.set_ylabel("loss")
    stacked = [by_step(steps, steps[n] / ranks * 1e3) for n in PARTS.values()]
    time.stackplot(stacked[0][0], *(s[1] for s in stacked), labels=PARTS.keys())
    time.set_ylabel("ms per step, mean of ranks")
    time.legend(loc="upper right")
    for name in ("hit", "demand", "ahead", "replacement"):
        rows.plot(*by_step(steps, steps[name]), label=name)
    for d in decisions:
        if d["action"]["action"] != "keep" and d["status"] == "applied":
            rows.axvline(d["effective_step"], color="grey", linewidth=0.8, linestyle=":")
    rows.set_ylabel("remote rows per step")
    rows.set_xlabel("step (dotted: an agent changed something)")
    rows.legend(loc="upper right")
    figure.savefig(out, dpi=120)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    run = pathlib.Path(sys.argv[1])
    steps = read_steps(run)
    if len(steps) == 0:
        sys.exit(f"{run}: no step is recorded there (is it the folder of 'rudder train --out'?)")
    decisions = list(lines(run / "decisions.jsonl"))
    finished = run / "summary.json"
    table(run, steps, decisions, json.loads(finished.read_text()) if finished.exists() else None)
    epochs_table(run)
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else pathlib.Path("run.png")
    try:
        draw(steps, decisions, out)
        print(f"drawn: {out}")
    except ImportError:
        print("not drawn: matplotlib is not installed")


main()
