"""bench/steer/live_figures.py on a tiny graph, and what it makes of runs that are given.

    live_figures_test.py SOURCE BUILD
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest

SOURCE, BUILD = sys.argv[1:3]
DRIVER = os.path.join(SOURCE, "bench", "steer", "live_figures.py")
sys.path.insert(0, os.path.dirname(DRIVER))
import lanes  # noqa: E402  (after the path is set)
import live_figures  # noqa: E402
import live_tables  # noqa: E402

USUAL = {"bulk": 0, "sample_threads": 1, "fetch_threads": 1, "demand_first": 1, "in_flight": 2, "buckets": 0}


class Tiny(unittest.TestCase):
    def test_all_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            done = subprocess.run(
                [sys.executable, DRIVER, "--rudder", os.path.join(BUILD, "src", "cli", "rudder"), "--work", folder + "/work",
                 "--out", str(out), "--minutes", "1.8", "--graphs", "generated", "--vertices", "2000", "--starts", "window:16",
                 "--rivals", "window:16;none;static-vip", "--repeat", "1", "--per-run", "1", "--link", "100us,1gbit", "--epochs", "3",
                 "--train", "--hidden 8 --fanout 4,6 --batch 20 --epochs 2"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            figures = json.loads((out / "figures.json").read_text())
            self.assertEqual((figures["failed"], figures["skipped"]), ([], []), done.stderr)
            line, = figures["starts"]
            # Nothing beats window:16 here, which is where it starts: rows are those of the fewest, from which `none` is far.
            self.assertEqual((line["fewest"], line["changes taken"]), ("window:16", 0))
            self.assertEqual(line["rows over the fewest"], 1)
            self.assertNotIn("generated / 1 / alone none / 0", figures["runs"])
            self.assertIn("generated / 1 / alone static-vip / 0", figures["runs"])  # no trace says enough to replay it
            self.assertGreater(figures["class"]["generated / 1"]["none"], figures["class"]["generated / 1"]["window:16"])
            link, = figures["links"]
            self.assertEqual(link["fallen"]["of"], len(figures["changing"]["generated / window:16"]["steps"]) // 3)
            self.assertEqual((out / "figures.md").read_text(), done.stdout)


def run_of(rows, stall, taken=(), cpu=0.5):
    """A run of two epochs of two steps; only the second counts."""
    return {"steps": [[0, 999, 9.0, 9.0], [0, 999, 9.0, 9.0], [1, rows, stall, 1.0], [1, rows, stall, 1.0]], "taken": list(taken),
            "agent": {"cpu_share": cpu, "cpu_seconds": 1.0, "regret": None, "learned": []}}


def change(reason, left, took):
    return {"rank": 1, "step": 7, "reason": reason, "status": "applied", "note": "", "left": {"policy": "window:16", **USUAL, **left},
            "took": {"policy": "window:16", **USUAL, **took}}


def made(repeat=3):
    options = types.SimpleNamespace(rudder="/bin/false", work=tempfile.mkdtemp(), minutes=1, cores=None, per_run=1, train=None,
                                    link=None, buffer=0.25, repeat=repeat, rivals=["window:16", "lru"], starts=["window:16"],
                                    graphs=["npm_deps"])
    return live_figures.Figures(options)


class Made(unittest.TestCase):
    def test_rows_and_medians_over_the_best(self):
        figures = made()
        for number, stall in enumerate((1.1, 5.0, 1.2)):
            figures.kept["npm_deps", 1, "window:16", number] = run_of(105, stall, cpu=0.1 * (number + 1))
        for number, stall in enumerate((1.0, 0.9, 1.1)):
            figures.kept["npm_deps", 1, "alone window:16", number] = run_of(100, stall)
        # The fewest rows, and by a single run the least stall, which is no median: rows count, seconds do not.
        figures.kept["npm_deps", 1, "alone lru", 0] = run_of(90, 0.1)
        cells = live_tables.Tables(figures).start_cells("npm_deps", "window:16")
        self.assertEqual((cells["fewest"], cells["rows over the fewest"]), ("lru", round(105 / 90, 4)))
        self.assertEqual((cells["least stall of"], cells["stall over the least"]), ("window:16", 1.2))
        self.assertEqual(cells["agent's share of CPU"], 0.2)
        self.assertIsNone(live_tables.Tables(figures).start_cells("npm_deps", "lru"))

    def test_each_wrong_change_is_listed(self):
        figures = made(1)
        run = run_of(1, 1.0, [change("shadow_better", {}, {"policy": "lru"}), change("shadow_better", {"policy": "lfu"}, {}),
                              change("timed_better", {}, {"in_flight": 1}), change("timed_better", {}, {"bulk": 64})])
        figures.rows["npm_deps", 1] = {"window:16": 1000, "lru": 1006}
        figures.replayed["npm_deps", 1, "lfu"] = 1001
        figures.timed["npm_deps", 1, "window:16", 0] = run_of(1, 1.0)
        figures.timed["npm_deps", 1, "window:16 in_flight 1", 0] = run_of(1, 1.1)
        wrong, unknown = live_tables.Tables(figures).judged("npm_deps", 1, "window:16", [run])
        self.assertEqual(len(wrong), 2, wrong)
        self.assertIn("to lru (applied): 1,006 instead of 1,000 rows", wrong[0])
        self.assertIn("to window:16 in_flight 1 (applied): 2.2 instead of 2 s of stall", wrong[1])
        self.assertEqual(len(unknown), 1, unknown)  # no run had that bulk size
        self.assertIn("bulk 64", unknown[0])

    def test_steps_until_near_the_best_after_a_change_of_the_link(self):
        figures = made(1)
        figures.kept["npm_deps", 1, "alone window:16", 0] = run_of(1, 0.1)  # steps of 1 s
        figures.slow["npm_deps", 1, "window:16"] = {"steps": [[1, 1, 1.0, 10.0]]}
        steps = [1.0] * 30 + [20.0] * 5 + [10.0] * 45 + [1.0] * 40
        figures.changing["npm_deps", "window:16"] = {"steps": [[1, 1, 1.0, t] for t in steps], "falls": 30, "back": 80,
                                                     "agent": {"learned": ["the run changed 2 times", "the run changed 0 times"]}}
        cells = live_tables.Tables(figures).link_cells("npm_deps", "window:16")
        # 16 steps with one of the 5 in them come to 10.6, over 5 % more than 10.
        self.assertEqual((cells["fallen"]["steps until near"], cells["back"]["steps until near"]), (5, 0))
        self.assertEqual((cells["noticed"], cells["agents"]), (1, 2))


class Lanes(unittest.TestCase):
    def test_the_most_urgent_comes_first_and_nothing_begins_too_late(self):
        some = lanes.Lanes([0], 1, time.monotonic() + 60)
        done = []
        some.add(2, "later", lambda lane: done.append("later"))
        some.add(1, "first", lambda lane: some.add(0, "then", lambda inner: done.append("then")) or done.append("first"))
        some.add(1, "too long", lambda lane: done.append("too long"), 100)
        some.add(3, "fails", lambda lane: 1 / 0)
        some.run()
        self.assertEqual((done, some.skipped), (["first", "then", "later"], ["too long"]))
        self.assertEqual(some.failed, ["fails: division by zero"])

    def test_no_core_is_in_two_lanes(self):
        self.assertEqual(lanes.Lanes(list(range(9)), 4, 0).lanes, ["0,1,2,3", "4,5,6,7"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
