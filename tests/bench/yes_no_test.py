"""bench/steer/yes_no_table.py on a folder as classifiers_table.py leaves it, of a tiny graph.

    yes_no_test.py SOURCE BUILD BENCH_STEER_DECISIONS
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, BENCH = sys.argv[1:4]
DRIVER = os.path.join(SOURCE, "bench", "steer", "yes_no_table.py")
RUDDER = os.path.join(BUILD, "src", "cli", "rudder")


def call(folder, *words):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def line(rows, user="rows per step 100"):
    """A question with what keeping, replacing all, lru and lfu cost."""
    replies = [{"action": "keep"}, {"action": "replace", "fraction": 1}, {"action": "set", "knobs": {"policy": "lru"}},
               {"action": "set", "knobs": {"policy": "lfu"}}]
    return json.dumps({"system": "Choose.", "user": user, "keep": 0,
                       "actions": [{"reply": reply, "rows": n, "seconds": None} for reply, n in zip(replies, rows)]}) + "\n"


class Tiny(unittest.TestCase):
    def test_both_tables(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            call(folder, RUDDER, "generate", "sbm", "graph", "--vertices", "600", "--quiet")
            call(folder, RUDDER, "partition", "graph", "parts", "--parts", "2", "--quiet")
            call(folder, RUDDER, "train", "parts", "--ranks", "2", "--ranks-per-host", "1", "--epochs", "4", "--batch", "20", "--hidden", "4",
                 "--fanout", "4,6", "--policy", "none", "--agent", "never", "--trace", "--quiet", "--out", "run-tiny")
            (folder / "results").mkdir()
            (folder / "results" / "fit.tiny.repaired.lr.json").write_text(json.dumps({"test": {"balanced": 0.625}}))
            out = call(folder, sys.executable, DRIVER, RUDDER, BENCH, ".", "--stride", "1").splitlines()
        self.assertEqual(len(out), 3 + 1 + 4, out)
        first = [cell.strip() for cell in out[2].split("|")[1:-1]]
        self.assertEqual((first[0], first[4], first[5]), ("tiny", "0.625 (`lr`)", "0.625"))
        self.assertGreater(int(first[1]), 0)
        self.assertTrue(0 <= float(first[3] or 0.5) <= 1)
        self.assertEqual([line.split("|")[2].strip() for line in out[6:]], ["as they are", "changed about"])


class Counts(unittest.TestCase):
    """What is chosen is counted rightly, whatever the model chooses."""

    def answers(self, texts, *words):
        with tempfile.TemporaryDirectory() as name:
            path = os.path.join(name, "lines.jsonl")
            pathlib.Path(path).write_text("".join(texts))
            return json.loads(call(name, BENCH, *words, path))

    def test_balanced_accuracy_is_of_the_label(self):
        # The same prompt always: it says yes to all or to none, which is right for half of each label.
        found = self.answers([line([100, 90, 0, 0])] * 3 + [line([100, 110, 0, 0])] * 5 + [line([100, 100, 0, 0])], "--yes-no")
        self.assertEqual(found["labels"], {"no": 6, "yes": 3})
        self.assertEqual(found["balanced"], 0.5)
        self.assertEqual(found["decisions"], 9)

    def test_costs_are_of_what_was_chosen(self):
        equal = self.answers([line([100, 100, 100, 100])] * 2)
        self.assertEqual((equal["no_worse"], equal["over_the_best"], equal["telling"], equal["best_chosen"]), (1, 1, 0, None))
        told = self.answers([line([100, 50, 50, 50])])
        self.assertEqual(told["telling"], 1)
        self.assertEqual(told["keep_over_the_best"], 2)
        self.assertIn(told["best_chosen"], (0, 1))

    def test_names_change_places_in_prompt_and_reply(self):
        effects = "Known effects on rows per step:\n-40.0 % {\"action\":\"set\",\"knobs\":{\"policy\":\"lru\"}}\n"
        self.assertNotIn("names", self.answers([line([100, 120, 60, 130], effects)]))
        first, second = (self.answers([line([100, 120, 60, 130], effects)], "--permute", seed)["names"] for seed in ("1", "2"))
        for names in (first, second):
            self.assertEqual(sorted(names), sorted(names.values()), "each name stands for one")
            self.assertIn("lru", names)
        self.assertNotEqual(first, second)
        self.assertTrue(any(name != other for name, other in first.items()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
