"""Verbs of the program as functions: training, predictions, replays, comparisons."""

import csv
import json
import os
import sys
import tempfile

from . import _rudder
from ._errors import Error
from ._frames import frame, lines

_interrupted = 5


def _arguments(options):
    """Options as the command line has them: ``batch=32`` becomes ``--batch=32``."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None:
            continue
        if value is True:
            words.append(option)
        elif value is False:
            words.append(option + "=false")
        elif isinstance(value, (list, tuple)):
            words.append(f"{option}={','.join(str(one) for one in value)}")
        else:
            words.append(f"{option}={value}")
    return words


def _repeated(name, values):
    if values is None:
        return []
    if isinstance(values, (str, int, float)):
        values = [values]
    return [f"--{name}={value}" for value in values]


def _run(verb, arguments, on_step=None, on_epoch=None):
    done = _rudder.run_verb(verb, [str(word) for word in arguments], on_step, on_epoch)
    return done["code"], json.loads(done["answer"])


class Run:
    """What a training run came to.

    ``summary``
        As ``summary.json`` has it; None on ranks other than 0.
    ``folder``
        Where it was kept; None if nowhere.
    ``interrupted``
        Whether a callback ended it before its last step.
    """

    def __init__(self, summary, folder, interrupted, epochs):
        self.summary = summary
        self.folder = folder
        self.interrupted = interrupted
        self._epochs = epochs

    @classmethod
    def open(cls, folder):
        """The run of a folder, whoever trained it; one that has not ended has no summary."""
        folder = os.fspath(folder)
        if not os.path.exists(os.path.join(folder, "run.json")):
            raise Error("there is no run", "input", folder, "give the folder of a training run")
        summary = None
        try:
            with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
                summary = json.load(file)
        except FileNotFoundError:
            pass
        return cls(summary, folder, False, None)

    def _lines(self, name):
        if self.folder is None:
            raise Error("the run was not kept", "usage", "Run", "give rudder.train a folder: out='run'")
        path = os.path.join(self.folder, name)
        return lines(path) if os.path.exists(path) else []

    def epochs(self):
        """A data frame with a row for each epoch: loss, seconds, accuracy."""
        return frame(self._lines("epochs.jsonl") if self._epochs is None else self._epochs)

    def steps(self):
        """A data frame with a row for each step and rank, the columns named as in docs/metrics.md: ``rows.hit``."""
        return frame(self._lines("metrics.jsonl"))

    def decisions(self):
        """A data frame with a row for each decision of an agent."""
        return frame(self._lines("decisions.jsonl"))

    def state_dict(self):
        """Its weights by PyG's names: see ``rudder.state_dict``."""
        from .weights import state_dict

        if self.folder is None:
            raise Error("the run was not kept", "usage", "Run", "give rudder.train a folder: out='run'")
        return state_dict(self.folder)

    def __repr__(self):
        steps = "" if self.summary is None else f", steps={self.summary['steps']}"
        return f"Run(folder={self.folder!r}, interrupted={self.interrupted}{steps})"


class ProgressBar:
    """A callback that shows a bar of tqdm, which has to be installed."""

    def __init__(self, **options):
        from tqdm.auto import tqdm

        self._bar = tqdm(unit="step", **options)

    def on_step(self, done, steps, loss):
        self._bar.total = steps
        self._bar.update(done - self._bar.n)
        self._bar.set_postfix(loss=f"{loss:.4f}", refresh=False)

    def close(self):
        self._bar.close()


def _bar_of(progress):
    """The bar that is asked for: by default on a terminal where there is tqdm."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return None
    try:
        return ProgressBar()
    except ImportError as error:
        if progress is None:
            return None
        raise Error("a progress bar lacks tqdm", "usage", "progress", "install tqdm, or leave progress out") from error


def _call_all(calls, *values):
    """Calls all; whether one of them wants the run to end."""
    return any([bool(call(*values)) for call in calls])


def train(path, *, out=None, callbacks=(), progress=None, **options):
    """Trains as ``rudder train`` does, in this process: as a rank of its job under torchrun, else alone.

    Parameters
    ----------
    path
        Parts. A data set is divided first: ``Dataset.partition``.
    out
        Folder to keep the run in.
    callbacks
        Each is called with every epoch, a dictionary as ``epochs.jsonl`` has it, or has methods ``on_epoch(epoch)`` and
        ``on_step(done, steps, loss)``. One that returns something true ends the run after the step in hand, with a
        checkpoint. They are called on this thread, a moment later; training does not wait for them, so that steps
        may be passed over. On rank 0.
    progress
        Whether a bar of tqdm is shown. Default: on a terminal, where tqdm is installed.
    options
        Options of ``rudder train`` by their names, with ``_`` for ``-``: ``epochs=5``, ``eval_every=2``.

    Returns
    -------
    Run
    """
    seen = []
    bar = _bar_of(progress)
    watchers = list(callbacks) + ([bar] if bar else [])
    on_step = [watcher.on_step for watcher in watchers if hasattr(watcher, "on_step")]
    on_epoch = [watcher.on_epoch if hasattr(watcher, "on_epoch") else watcher for watcher in watchers
                if hasattr(watcher, "on_epoch") or not hasattr(watcher, "on_step")]

    def epoch_done(line):
        epoch = json.loads(line)
        seen.append(epoch)
        return _call_all(on_epoch, epoch)

    def step_done(*values):
        return _call_all(on_step, *values)

    words = [os.fspath(path), *_arguments(options)]
    if out is not None:
        words.append(f"--out={os.fspath(out)}")
    try:
        code, summary = _run("train", words, step_done if on_step else None, epoch_done)
    finally:
        if bar:
            bar.close()
    return Run(summary, None if out is None else os.fspath(out), code == _interrupted, seen)


def evaluate(run, *, data=None, **options):
    """The scores of a run's network, as ``rudder evaluate --json`` prints them; None on ranks other than 0."""
    words = [os.fspath(run), *_arguments(dict(options, data=None if data is None else os.fspath(data)))]
    return _run("evaluate", words)[1]


def predict(run, *, data=None, out=None, **options):
    """What a run's network predicts for all vertices, as ``rudder predict`` writes it.

    A data frame with a row for each vertex, the columns named as in the CSV file: ``id`` (yours), ``class`` or ``labels``, and
    the scores; with ``embeddings=True`` the last hidden layer, too. Of a run that learned links: ``source``,
    ``target`` and ``score``, the ``top=10`` of each vertex. ``out`` keeps it in a file besides, by its ending: .npz, .csv or
    .parquet. None on ranks other than 0.
    """
    words = _arguments(dict(options, data=None if data is None else os.fspath(data)))
    if out is not None:
        _run("predict", [os.fspath(run), os.fspath(out), *words])
    with tempfile.TemporaryDirectory(prefix="rudder-") as beside:
        answers = os.path.join(beside, "answers.csv")
        if _run("predict", [os.fspath(run), answers, *words])[1] is None:
            return None
        with open(answers, newline="", encoding="utf-8") as file:
            names, *rows = csv.reader(file)
    columns = {name: _values([row[i] for row in rows]) for i, name in enumerate(names)}
    return frame([dict(zip(columns, row)) for row in zip(*columns.values())])


def _values(texts):
    """Whole numbers, numbers or texts: whatever all of them are."""
    for kind in (int, float):
        try:
            return [kind(text) for text in texts]
        except ValueError:
            continue
    return texts


def replay(trace, *, policies=None, buffers=None, agents=None, **options):
    """Policies and agents on a recorded trace, on ids alone: a data frame with a row for each pair and buffer.

    ``policies``, ``buffers`` (shares of the halo) and ``agents`` are lists as the options of ``rudder replay``, those that
    were registered in Python included.
    """
    words = [os.fspath(trace), *_repeated("policy", policies), *_repeated("buffer", buffers),
             *_repeated("agent", agents), *_arguments(options)]
    return frame(_run("replay", words)[1])


def compare(path, *, policies=None, agents=None, out=None, **options):
    """Trains once for each policy and agent, and compares them: a data frame with a row for each, the columns named
    as in ``summary.json``. None on ranks other than 0. ``options`` are those of ``rudder compare``."""
    words = [os.fspath(path), *_repeated("policy", policies), *_repeated("agent", agents), *_arguments(options)]
    if out is not None:
        words.append(f"--out={os.fspath(out)}")
    rows = _run("compare", words)[1]
    return None if rows is None else frame(rows)
