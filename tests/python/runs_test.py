"""Training, predictions, replays and comparisons from Python."""

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import types
import unittest
import unittest.mock

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402
from rudder._frames import Columns, frame  # noqa: E402

options = {"epochs": 2, "batch": 32, "hidden": 8, "fanout": [3, 4], "seed": 5}


def column(table, name):
    return list(table[name])


class RunsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.parts = small_graph.make(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def place(self, name):
        return os.path.join(self.folder.name, name)

    def test_training_is_that_of_the_program(self):
        run = rudder.train(self.parts, out=self.place("run"), **options)
        self.assertFalse(run.interrupted)
        told = subprocess.run([os.environ["RUDDER_PROGRAM"], "train", self.parts, "--epochs", "2", "--batch", "32", "--hidden",
                               "8", "--fanout", "3,4", "--seed", "5", "--json"], check=True, capture_output=True, text=True)
        self.assertEqual(run.summary["loss"]["digest"], json.loads(told.stdout)["loss"]["digest"])
        with open(os.path.join(run.folder, "summary.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), run.summary)
        self.assertEqual(column(run.epochs(), "epoch"), [0, 1])
        steps = run.steps()
        self.assertEqual(max(column(steps, "step")) + 1, run.summary["steps"])
        self.assertIn("rows.needed", list(steps))
        again = rudder.Run.open(run.folder)
        self.assertEqual(again.summary, run.summary)
        self.assertEqual(column(again.epochs(), "loss"), column(run.epochs(), "loss"))

    def test_callbacks_are_told(self):
        class Watcher:
            def __init__(self):
                self.steps = []
                self.epochs = []

            def on_step(self, done, steps, loss):
                self.steps.append((done, steps, loss))

            def on_epoch(self, epoch):
                self.epochs.append(epoch["epoch"])

        watcher, seen = Watcher(), []
        run = rudder.train(self.parts, callbacks=[watcher, lambda epoch: seen.append(epoch["loss"])], **options)
        self.assertEqual(watcher.epochs, [0, 1])
        self.assertEqual(seen, column(run.epochs(), "loss"))
        self.assertEqual(watcher.steps[-1][:2], (run.summary["steps"], run.summary["steps"]))
        with self.assertRaises(rudder.Error):
            run.steps()

    def test_a_callback_ends_the_run(self):
        run = rudder.train(self.parts, out=self.place("ended"), callbacks=[lambda epoch: epoch["epoch"] == 1],
                           **dict(options, epochs=100000))
        self.assertTrue(run.interrupted)
        self.assertLess(run.summary["steps"], 100000)
        self.assertTrue(os.listdir(os.path.join(run.folder, "checkpoints")))

    def test_what_a_callback_raises_comes_out(self):
        def fail(epoch):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            rudder.train(self.parts, callbacks=[fail], **dict(options, epochs=100000))
        self.assertFalse(rudder.train(self.parts, **options).interrupted)

    def test_an_interrupt_ends_a_run(self):
        timers = []

        def interrupt_soon(epoch):
            if not timers:  # it comes while nobody is called
                timers.append(threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)))
                timers[0].start()

        with self.assertRaises(KeyboardInterrupt):
            rudder.train(self.parts, out=self.place("stopped"), callbacks=[interrupt_soon], **dict(options, epochs=100000))
        self.assertTrue(os.listdir(self.place("stopped/checkpoints")))
        self.assertFalse(rudder.train(self.parts, **options).interrupted)

    def test_a_bar_is_shown(self):
        class Bar:
            made = []

            def __init__(self, **given):
                self.given, self.n, self.total, self.shown, self.closed = given, 0, None, {}, False
                Bar.made.append(self)

            def update(self, count):
                self.n += count

            def set_postfix(self, refresh=True, **shown):
                self.shown = shown

            def close(self):
                self.closed = True

        auto = types.ModuleType("tqdm.auto")
        auto.tqdm = Bar
        with unittest.mock.patch.dict(sys.modules, {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": auto}):
            run = rudder.train(self.parts, progress=True, **options)
            bar, = Bar.made
            self.assertEqual((bar.n, bar.total), (run.summary["steps"], run.summary["steps"]))
            self.assertEqual(set(bar.shown), {"loss"})
            self.assertTrue(bar.closed)
            rudder.train(self.parts, progress=False, **options)
            with unittest.mock.patch.object(sys, "stderr", io.StringIO()):  # no terminal
                rudder.train(self.parts, **options)
            self.assertEqual(len(Bar.made), 1)
        with unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            with self.assertRaises(rudder.Error) as caught:
                rudder.train(self.parts, progress=True, **options)
            self.assertIn("tqdm", caught.exception.remedy)

    def test_errors_can_be_acted_on_elsewhere(self):
        with self.assertRaises(rudder.Error) as caught:
            rudder.Run.open(self.place("nowhere"))
        error = caught.exception
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((again.problem, again.kind, again.where, again.remedy),
                         (error.problem, error.kind, error.where, error.remedy))
        self.assertTrue(error.problem and error.where and error.remedy)
        for part in (error.problem, error.where, error.remedy):
            self.assertIn(part, str(again))

    def test_predictions_are_a_table(self):
        rudder.train(self.parts, out=self.place("trained"), **options)
        table = rudder.predict(self.place("trained"), out=self.place("answers.csv"))
        self.assertEqual(len(column(table, "class")), small_graph.vertices)
        with open(self.place("answers.csv"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), small_graph.vertices + 1)
        self.assertEqual(sorted(column(table, "id")), list(range(small_graph.vertices)))
        scores = rudder.evaluate(self.place("trained"))
        self.assertGreaterEqual(scores["accuracy"]["test"], 0)

    def test_replays_are_a_table(self):
        rudder.train(self.parts, out=self.place("traced"), trace=True, **options)
        table = rudder.replay(self.place("traced"), policies=["lru", "window:4"], buffers=[0.1, 0.5])
        self.assertEqual(column(table, "policy"), ["lru", "window:4"] * 2)
        self.assertEqual(column(table, "fraction"), [0.1, 0.1, 0.5, 0.5])

    def test_comparisons_are_a_table(self):
        table = rudder.compare(self.parts, policies=["none", "lru"], **options)
        self.assertEqual(len(column(table, "policy")), 2)
        self.assertEqual(len(set(column(table, "loss.digest"))), 1)

    def test_weights_have_names_of_pyg(self):
        rudder.train(self.parts, out=self.place("weights"), **options)
        state = rudder.state_dict(self.place("weights"))
        shapes = {name: tuple(array.shape) for name, array in state.items()}
        self.assertEqual(shapes, {"convs.0.lin_l.weight": (8, 6), "convs.0.lin_l.bias": (8,), "convs.0.lin_r.weight": (8, 6),
                                  "convs.1.lin_l.weight": (4, 8), "convs.1.lin_l.bias": (4,),
                                  "convs.1.lin_r.weight": (4, 8)})
        rudder.write_state_dict(state, self.place("weights"), self.place("same"))
        self.assertEqual(rudder.evaluate(self.place("same"))["accuracy"],
                         rudder.evaluate(self.place("weights"))["accuracy"])
        changed = {name: numpy.zeros_like(array) for name, array in state.items()}
        rudder.write_state_dict(changed, self.place("weights"), self.place("zeroes"))
        self.assertEqual(set(column(rudder.predict(self.place("zeroes")), "class")), {0})
        del changed["convs.0.lin_l.bias"]
        with self.assertRaises(rudder.Error) as caught:
            rudder.write_state_dict(changed, self.place("weights"), self.place("less"))
        self.assertIn("convs.0.lin_l.bias", str(caught.exception))

    def test_what_is_refused(self):
        for word, given in {"speed": {"speed": 3}, "ranks": {"ranks": 2}, "link": {"link": "1ms,1gbit"},
                            "epochs": {"epochs": "many"}}.items():
            with self.subTest(word), self.assertRaises(rudder.Error) as caught:
                rudder.train(self.parts, **{**options, **given})
            self.assertEqual(caught.exception.kind, "usage")
            self.assertIn(word, str(caught.exception))
        with self.assertRaises(rudder.Error) as caught:
            rudder.Run.open(self.place("nowhere"))
        self.assertEqual(caught.exception.kind, "input")


class FramesTest(unittest.TestCase):
    def test_what_a_row_lacks_is_none(self):
        table = frame([{"a": 1, "b": {"c": 2}}, {"a": 3, "d": "x"}])
        self.assertEqual(list(table), ["a", "b.c", "d"])
        self.assertEqual(column(table, "a"), [1, 3])

    def test_columns_give_rows(self):
        self.assertEqual(Columns(a=[1, 2], b=[3, 4]).rows(), [{"a": 1, "b": 3}, {"a": 2, "b": 4}])


if __name__ == "__main__":
    unittest.main()
