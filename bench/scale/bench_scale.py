#!/usr/bin/env python3
"""Training at the size of published graphs: each stage by itself, and whole runs, in one table.

    bench_scale.py [--build build/release] [--size auto|tiny|quarter|half|full | --vertices N] [--thorough] [--record]

Makes the graph once (kept in build/scale), measures, prints the table, writes build/scale/result.json, and holds the
ratios against the record of the same kind of machine in bench/scale/recorded. What memory or disk does not
suffice for is skipped with the reason; the rest goes on. Exit: 0, 1 where something failed, 2 for wrong use.
"""
import argparse
import datetime
import json
import os
import re
import sys

import machine
import record
from commands import Runner
from rows import Row
from runs import Runs
from stages import Sizes, Stages

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"tiny": 4_000, "quarter": 600_000, "half": 1_200_000, "full": 2_400_000}
MANY_CORES = 8  # from so many on, the full size ends within an hour


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench_scale.py", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--build", default="build/release", help="build folder with the program and scale_stages")
    add("--work", default="build/scale", help="folder of the graph and of result.json")
    add("--size", default="auto", help="auto, " + ", ".join(f"{n} ({v:,} vertices)" for n, v in SIZES.items()))
    add("--vertices", type=int, help="any other size")
    add("--thorough", action="store_true", help="5 rounds instead of 3")
    add("--rounds", type=int, help="any other number of rounds")
    add("--beside", metavar="BUILD", help="another build, whose program takes turns with this one in whole runs")
    add("--only", default="", help="stages, runs, or both (the default)")
    add("--runs", default="", metavar="REGEX", help="only whole runs whose name it finds, such as '4 ranks, hidden 16'")
    add("--memory", type=float, help="bytes that may be used (default: what is available)")
    add("--record", action="store_true", help="keep the result as the record of this kind of machine")
    add("--recorded", default=os.path.join(HERE, "recorded"), help="folder of the records")
    add("--compare", metavar="RESULT", help="measure nothing: hold an earlier result.json against the record")
    add("--verbose", action="store_true", help="say each command")
    setup = parser.parse_args(arguments)
    for name, value in (("--vertices", setup.vertices), ("--rounds", setup.rounds), ("--memory", setup.memory)):
        if value is not None and value <= 0:
            parser.error(f"invalid {name}: {value}")
    if setup.size not in SIZES and setup.size != "auto":
        parser.error(f"invalid --size: {setup.size} (auto, {', '.join(SIZES)})")
    try:
        re.compile(setup.runs)
    except re.error as error:
        parser.error(f"invalid --runs: {setup.runs} ({error})")
    if setup.only not in ("", "stages", "runs"):
        parser.error(f"invalid --only: {setup.only} (stages, runs)")
    return setup


def choose_size(memory):
    """The full size on many cores, half of it on few, smaller ones where memory is short."""
    largest = "full" if machine.cores() >= MANY_CORES else "half"
    for name in ("full", "half", "quarter"):
        sizes = Sizes(SIZES[name])
        if SIZES[name] <= SIZES[largest] and max(map(sizes.memory, ("run", "evaluation", "generate"))) <= memory:
            return name
    return "tiny"


def complete(setup):
    """What follows from the arguments."""
    setup.memory = setup.memory or machine.memory_available()
    if setup.vertices is None:
        setup.size = choose_size(setup.memory) if setup.size == "auto" else setup.size
        setup.vertices = SIZES[setup.size]
    setup.tiny = setup.vertices <= SIZES["tiny"]
    setup.rounds = setup.rounds or (5 if setup.thorough else 1 if setup.tiny else 3)
    setup.batch = 50 if setup.tiny else 1000
    setup.steps = 2 if setup.tiny else 16
    setup.epochs = 2 if setup.tiny else 3
    setup.rank_counts = lambda: (2,) if setup.tiny else (2, 4)
    setup.rudder = os.path.join(setup.build, "src", "cli", "rudder")
    setup.beside = os.path.join(setup.beside, "src", "cli", "rudder") if setup.beside else ""
    setup.stages = os.path.join(setup.build, "bench", "scale", "scale_stages")
    return setup


def version_of(program):
    done = Runner(False, 20).run([program, "--version"])
    return "unknown" if done.failure else done.stdout.strip()


def measure(setup, uncounted):
    def tell(text):
        print(text, file=sys.stderr, flush=True)

    runner = Runner(not uncounted, 120 if setup.tiny else 3600, tell if setup.verbose else lambda text: None)
    stages = Stages(setup, runner)
    rows = []

    def add(row):
        rows.append(row)
        tell(f"  {row.name}: {row.skipped or row.figure}")

    for row in stages.make() if setup.only == "runs" else stages.all():
        add(row)
    if setup.only != "stages":
        for row in Runs(setup, runner, stages, tell).all():
            add(row)
    return rows


def main():
    setup = parse(sys.argv[1:])
    if setup.compare:
        try:
            with open(setup.compare) as file:
                result = json.load(file)
            rows = [Row.from_json(row) for row in result["rows"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"bench_scale.py: invalid result {setup.compare}: {error}")
    else:
        setup = complete(setup)
        for program in (setup.rudder, setup.stages, setup.beside):
            if program and not os.access(program, os.X_OK):
                print(f"bench_scale.py: no program {program}: make bench-scale builds it", file=sys.stderr)
                sys.exit(2)
        os.makedirs(setup.work, exist_ok=True)
        uncounted = machine.instructions_counted()
        rows = measure(setup, uncounted)
        result = {"schema": 1, "kind": machine.kind(setup.vertices), "date": str(datetime.date.today()),
                  "version": version_of(setup.rudder), "rounds": setup.rounds,
                  "machine": {"processor": machine.processor(), "cores": machine.cores(),
                              "memory": setup.memory, "instructions": uncounted or "counted"},
                  "graph": {"vertices": setup.vertices}, "rows": [row.to_json() for row in rows]}
    show(setup, result, rows)
    sys.exit(1 if any(row.failed for row in rows) else 0)


def show(setup, result, rows):
    recorded = record.read(setup.recorded, result["kind"])
    facts = result["machine"]
    print(f"{facts['processor']}, {facts['cores']} cores; {result['graph']['vertices']:,} vertices; {result['version']}, "
          f"{result['date']}; medians of {result['rounds']} rounds")
    if facts["instructions"] != "counted":
        print(f"No instruction counts: {facts['instructions']}.")
    print("\n" + record.table(rows, recorded) + "\n")
    lines = record.verdict(rows, recorded)
    print("\n".join(lines))
    if setup.compare:
        return
    result["verdict"] = lines
    path = os.path.join(setup.work, "result.json")
    with open(path, "w") as file:
        json.dump(result, file, indent=1)
    print(f"Written: {path}")
    if setup.record:
        print(f"Recorded: {record.write(setup.recorded, result)}")


if __name__ == "__main__":
    main()
