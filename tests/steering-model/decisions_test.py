"""Collected decisions: what is learned from them, and what is refused.

    decisions_test.py PROMPT_SAMPLES
"""
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "steering-model"))
import decisions  # noqa: E402
import prompts  # noqa: E402
import worlds  # noqa: E402

KEEP = {"action": "keep"}
WINDOW = {"action": "set", "knobs": {"window": 32}}
LRU = {"action": "set", "knobs": {"policy": "lru"}}


def sample(rows, seconds=None, cost="rows", keep=0, graph="npm", step=16, user="user"):
    seconds = seconds or [None] * len(rows)
    actions = [{"reply": a, "rows": r, "seconds": s} for a, r, s in zip((KEEP, WINDOW, LRU), rows, seconds)]
    system = f"task\n{prompts.COSTS[cost]}\n\nKnobs"
    return {"system": system, "user": user, "graph": graph, "step": step, "actions": actions, "keep": keep}


class DecisionsTest(unittest.TestCase):
    def read(self, *samples):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples.jsonl")
            with open(path, "w", encoding="utf-8") as out:
                out.writelines((s if isinstance(s, str) else json.dumps(s)) + "\n" for s in samples)
            return decisions.read_decisions([path])

    def test_the_cheapest_action_is_learned(self):
        self.assertEqual(self.read(sample([100, 90, 80]))[0].reply(), '{"action":"set","knobs":{"policy":"lru"}}')

    def test_keep_is_learned_where_little_is_saved(self):
        self.assertEqual(self.read(sample([1000, 996, 1200]))[0].reply(), '{"action":"keep"}')
        self.assertEqual(self.read(sample([1000, 994, 1200]))[0].reply(), '{"action":"set","knobs":{"window":32}}')
        self.assertEqual(self.read(sample([0, 0, 0]))[0].target(), 0)

    def test_seconds_count_where_the_run_pays_in_them(self):
        self.assertEqual(self.read(sample([100, 90, 80], [3.0, 1.0, 2.0], "seconds"))[0].target(), 1)
        self.assertEqual(self.read(sample([100, 90, 80], [3.0, 1.0, 2.0], "rows"))[0].target(), 2)
        self.assertEqual(self.read(sample([100, 90, 80], [3.0, None, 2.0], "seconds"))[0].target(), 2)

    def test_graphs_can_be_held_out(self):
        learned, held = decisions.split(self.read(sample([1, 1, 1]), sample([1, 1, 1], graph="cora")), ["cora"])
        self.assertEqual(([d.graph for d in learned], [d.graph for d in held]), (["npm"], ["cora"]))

    def test_one_graph_of_some_is_held_out_by_its_name(self):
        read = self.read(*[sample([1, 1, 1], graph=f"rmat-{i}") for i in range(400)])
        learned, held = decisions.split(read, [], every=8)
        self.assertEqual(len(learned) + len(held), 400)
        self.assertAlmostEqual(len(held), 50, delta=20)
        self.assertEqual([d.graph for d in decisions.split(read[::-1], [], every=8)[1]], [d.graph for d in held[::-1]])
        self.assertEqual(len(decisions.split(read, [], every=0)[0]), 400)

    def test_names_change_places_everywhere_at_once(self):
        user = 'lru lfu:16 scored-faithful static-vip,every:4 xlru windows {"policy":"lru"} set window 8'
        decision = self.read(sample([100, 90, 80], user=user))[0]
        to = dict(zip(decisions.NAMES, decisions.NAMES[1:] + decisions.NAMES[:1]))
        asked = decisions.question(decision, to)
        self.assertEqual(asked.user, 'lfu clock:16 scored-faithful static-random,every:4 xlru windows {"policy":"lfu"} set scored 8')
        self.assertEqual(asked.replies, ('{"action":"keep"}', '{"action":"set","knobs":{"scored":32}}',
                                         '{"action":"set","knobs":{"policy":"lfu"}}'))
        self.assertEqual((asked.best, asked.costs, asked.keep), (2, (100, 90, 80), 0))
        self.assertEqual(decisions.question(decision).user, user)
        self.assertEqual([round(gap, 3) for gap in asked.gaps()], [0, -0.1, -0.2])

    def test_other_names_are_each_of_one(self):
        for made in (decisions.permuted_names(random.Random(1)), decisions.made_up_names(random.Random(1), worlds.Names())):
            self.assertEqual(list(made), list(decisions.NAMES))
            self.assertEqual(len(set(made.values())), len(made))
        self.assertEqual(set(decisions.permuted_names(random.Random(1)).values()), set(decisions.NAMES))
        self.assertFalse(set(decisions.made_up_names(random.Random(1), worlds.Names()).values()) & set(decisions.NAMES))

    def test_broken_samples_are_refused_by_line(self):
        good = sample([1, 2, 3])
        for bad in ("{", json.dumps(good | {"keep": 1}), json.dumps(good | {"keep": 7}),
                    json.dumps({k: v for k, v in good.items() if k != "user"}),
                    json.dumps(good | {"actions": [{"reply": {"act": "keep"}, "rows": 1}]})):
            with self.assertRaisesRegex(SystemExit, "(?s)invalid sample: .*samples.jsonl:2"):
                self.read(good, bad)


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
