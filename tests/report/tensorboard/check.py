"""What TensorBoard reads of a run is what the run's other files say.

    check.py RUN
"""
import collections
import json
import math
import pathlib
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader


def lines(file):
    with open(file) as text:
        return [json.loads(line) for line in text]


def flat(value, path=""):
    """The numbers of a line by their path; those that are no metrics left out."""
    for key, below in value.items():
        name = f"{path}/{key}" if path else key
        if isinstance(below, dict):
            yield from flat(below, name)
        elif isinstance(below, (int, float)):
            yield name, below


def main():
    run = pathlib.Path(sys.argv[1])
    files = sorted(run.glob("events.out.tfevents.*"))
    first = [next(iter(EventFileLoader(str(file)).Load())) for file in files]
    assert all(event.file_version == "brain.Event:2" for event in first), first

    reader = EventAccumulator(str(run), size_guidance={"scalars": 0})
    reader.Reload()
    seen = {tag: reader.Scalars(tag) for tag in reader.Tags()["scalars"]}

    steps = collections.defaultdict(list)
    for line in lines(run / "metrics.jsonl"):
        steps[line["step"]].append(dict(flat(line)))
    checked = 0
    for tag, events in seen.items():
        if tag.startswith(("accuracy/", "epoch/")):
            continue
        assert [event.step for event in events] == list(range(len(steps))), tag
        assert [e.wall_time for e in events] == sorted(e.wall_time for e in events), tag
        for event in events:
            values = [ranks[tag] for ranks in steps[event.step] if tag in ranks]
            assert len(values) == len(steps[event.step]), tag
            wanted = sum(values)
            if tag == "loss" or tag.startswith(("seconds/", "knobs/")):
                wanted /= len(values)
            assert math.isclose(event.value, wanted, rel_tol=1e-6), (tag, event, wanted)
            checked += 1

    epochs = lines(run / "epochs.jsonl")
    for which in ("train", "valid", "test"):
        # An epoch that was being evaluated when the run was cut is told of twice, alike.
        told = {event.step: event.value for event in seen[f"accuracy/{which}"]}
        assert len(told) == len(epochs)
        for epoch in epochs:
            step = (epoch["epoch"] + 1) * epoch["steps"] - 1
            assert math.isclose(told[step], epoch["accuracy"][which], rel_tol=1e-6), epoch
    print(f"{checked} values of {len(seen)} tags")


main()
