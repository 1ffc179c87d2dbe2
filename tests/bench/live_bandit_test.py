"""bench/steer/live_bandit.py on a tiny graph, and what it makes of runs that are given.

    live_bandit_test.py SOURCE BUILD
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = sys.argv[1:3]
DRIVER = os.path.join(SOURCE, "bench", "steer", "live_bandit.py")
sys.path.insert(0, os.path.dirname(DRIVER))
import live_bandit  # noqa: E402  (after the path is set)


def bench(work):
    return subprocess.run(
        [sys.executable, DRIVER, "--rudder", os.path.join(BUILD, "src", "cli", "rudder"), "--work", work, "--graphs",
         "generated", "--vertices", "2000", "--starts", "window:1", "--rivals", "window:16;lru", "--train",
         "--hidden 8 --fanout 4,6 --batch 10 --epochs 2"], capture_output=True, text=True)


class Tiny(unittest.TestCase):
    def test_both_tables_and_a_second_call_that_runs_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            first = bench(folder)
            self.assertEqual(first.returncode, 0, first.stderr)
            lines = [line for line in first.stdout.splitlines() if line.startswith("| generated | window:1 |")]
            self.assertEqual([line.count("|") for line in lines], [12, 8], first.stdout)
            self.assertIn("worse in hindsight by over 0.5 %", first.stdout)
            # Two members under two links, a traced run, and one under a link that changes.
            self.assertEqual(len(first.stderr.splitlines()), 6, first.stderr)
            again = bench(folder)
            self.assertEqual((again.stdout, again.stderr), (first.stdout, ""))


class Parts(unittest.TestCase):
    def test_seconds_are_medians_of_the_steps_after_the_first_epoch(self):
        def run(stall):
            return {"steps": [[0, 1000, 9.0, 9.0], [1, 10, stall, 2.0], [1, 20, stall, 4.0]]}
        figures = live_bandit.Figures([run(1.0), run(5.0), run(2.0)])
        self.assertEqual((figures.rows, figures.stall, figures.time, figures.steps), (30, 4.0, 3.0, 2))

    def test_a_tenth_of_a_rate(self):
        for link, tenth in (("100us,1gbit", "100us,0.1gbit"), ("1ms,25mbit", "1ms,2.5mbit"), ("5us,2MB", "5us,0.2MB")):
            self.assertEqual(live_bandit.slower(link), tenth)

    def test_steps_until_near_the_best(self):
        times = [1.0] * 20 + [3.0] * 30 + [1.04] * 30
        self.assertEqual(live_bandit.near_after(times, 20, 80, 1.0), 30)
        self.assertIsNone(live_bandit.near_after(times, 20, 60, 1.0))
        self.assertEqual(live_bandit.near_after(times, 50, 80, 1.0), 0)

    def test_changes_are_taken_from_the_log_with_what_they_left(self):
        def metrics(step, policy):
            return {"rank": 0, "step": step, "knobs": {"policy": policy, "bulk": 0, "sample_threads": 1,
                                                       "fetch_threads": 1}}

        def decision(step, reason, status="applied", action="set"):
            return {"rank": 0, "effective_step": step, "reason": reason, "status": status,
                    "action": {"action": action}}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            steps = [metrics(0, "lru"), metrics(1, "window:16"), metrics(2, "window:16"), metrics(3, "lfu")]
            decisions = [decision(0, "good_enough", action="keep"), decision(1, "shadow_better"),
                         decision(2, "trying"), decision(2, "shadow_better", "refused"), decision(3, "shadow_better")]
            (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, steps)))
            (folder / "decisions.jsonl").write_text("\n".join(map(json.dumps, decisions)))
            changes = live_bandit.taken(folder)
            # Another agent says of nothing that it only tries it.
            self.assertEqual([c["step"] for c in live_bandit.taken(folder, "llm:built-in")], [1, 2, 3])
        self.assertEqual([(c["step"], c["left"]["policy"], c["took"]["policy"]) for c in changes],
                         [(1, "lru", "window:16"), (3, "window:16", "lfu")])
        run = {"taken": changes, "replayed": {"lru": 1000, "window:16": 1004, "lfu": 1010}}
        found = live_bandit.wrong(None, "g", "1us,1gbit", 1, run)
        self.assertEqual(len(found), 1, found)  # 0.4 % is within what is tolerated, 0.6 % is not
        self.assertIn("step 3: window:16 to lfu: 1,010 instead of 1,004 rows", found[0])

    def test_knobs_of_time_are_part_of_a_setting_and_held_by_a_run(self):
        usual = live_bandit.setting({"policy": "window:16", "window": 16, "in_flight": 2, "bulk": 0})
        slow = live_bandit.setting({"policy": "window:16", "in_flight": 1, "demand_first": 0})
        self.assertNotEqual(usual, slow)
        self.assertEqual((live_bandit.told(usual), live_bandit.told(slow)),
                         ("window:16", "window:16 demand_first 0 in_flight 1"))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.assertEqual(live_bandit.held(folder, usual), ["--agent", "never"])
            option, agent = live_bandit.held(folder, slow)
            self.assertEqual((option, agent.split(":")[0]), ("--agent", "schedule"))
            self.assertEqual(json.loads(pathlib.Path(agent.split(":", 1)[1]).read_text()),
                             {"step": 0, "action": {"action": "set", "knobs": {"demand_first": 0, "in_flight": 1}}})
            self.assertEqual(live_bandit.held(folder, {**usual, "buckets": 2})[2:], ["--agent-scope", "job"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
