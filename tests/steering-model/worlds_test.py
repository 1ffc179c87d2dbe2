"""Made-up worlds: the layout is the program's, the text tells the best action, and nothing else does.

    worlds_test.py PROMPT_SAMPLES
"""
import collections
import dataclasses
import json
import math
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "steering-model"))
import prompts  # noqa: E402
import worlds  # noqa: E402
from prompts import Facts, Observation, Past, Setting, Window  # noqa: E402

LINE = re.compile(r"^step \d+: (replace ([\d.]+)|set (\S+) (\S+)) \((\w+)\): .*rows_per_step ([\d.]+) to ([\d.]+)", re.M)


def as_in_the_program():
    """The two prompts of prompt_samples.cpp, made here."""
    ranges = {"window": "1 to 64", "capacity": "0 to 1200", "sample_threads": "1 to 1", "fetch_threads": "1 to 1",
              "in_flight": "1 to 2", "buckets": "0 to 0"}

    def knobs(**wider):
        return tuple(dataclasses.replace(k, range=(ranges | wider).get(k.name, k.range)) for k in prompts.KNOBS)

    start = Setting(("scored", None, 1000, 0.99, 1, None, 0, 1, 1, 1, 2, 0))
    last, total = Window(0.75, 60, 200, 50, 10), Window(0.7, 70)
    first = Facts(2000, 100, 1200, start, "scored,every:16", knobs())
    now = Observation(160, 16, last, total, last, last, 400, 4000, 321, 0, start, True)
    started = Setting(("scored", None, 1000, 0.99, 1, None, 4096, 3, 1, 1, 2, 0))
    second = Facts(2000, 100, 1200, started, "scored,every:16", knobs(sample_threads="1 to 16", fetch_threads="1 to 8"),
                   "seconds", "graph: 1000 vertices")
    setting = Setting(("window:32", 32, 1000, 0.99, None, 2, 4096, 3, 1, 1, 2, 0))
    before, after = Window(0.7, 70), Window(0.75, 60)
    tried = [({"action": "keep"}, "applied", True), ({"action": "replace", "fraction": 0.25}, "late", True),
             ({"action": "set", "knobs": {"policy": "lru"}}, "undone", False),
             ({"action": "set", "knobs": {"capacity": 1200}}, "refused", None),
             ({"action": "set", "knobs": {"decay": 0.999}}, "applied", None)]
    history = [Past(16 * (i + 1), action, status, before, after, correct) for i, (action, status, correct) in enumerate(tried)]
    history[4] = dataclasses.replace(history[4], before=Window(0.7, 1234.56), correct=True)
    later = dataclasses.replace(now, step=1600, setting=setting, takes_decisions=False, history=tuple(history),
                                seconds=tuple(s / 16 for s in (0.5, 0.25, 0.125, 0.3)))
    return [(first, now), (second, later)]


def best_by_text(system, user):
    """The reply that the words alone tell, by a reader of its own."""
    now = float(re.search(r"^last \d+ steps: .*? rows_per_step ([\d.]+)", user, re.M)[1])
    saved = {'{"action":"keep"}': 0.0}
    lines = LINE.findall(user)
    told = [line for line in lines if line[4] == "applied"]
    if told and told[0][2] == "policy":
        start = re.search(r"it began with (.*?), capacity", system)[1]
        saved[prompts.reply_text({"action": "set", "knobs": {"policy": start}})] = 1 - float(lines[0][5]) / now
    for _, fraction, knob, value, _, before, after in told:
        if fraction:
            reply = {"action": "replace", "fraction": float(fraction)}
            saved[prompts.reply_text(reply)] = 1 - float(after) / float(before)
        elif (knob, value) != told[-1][2:4]:
            reply = {"action": "set", "knobs": {knob: value if knob == "policy" else float(value.replace(",", ""))}}
            saved[prompts.reply_text(reply)] = 1 - float(after) / now
    twin = float(re.search(r"^this setting on a sample .*?rows_per_step ([\d.]+)", user, re.M)[1])
    rule = re.search(r"^built-in rule on the same sample \((.*?), capacity .*?rows_per_step ([\d.]+)", user, re.M)
    saved[prompts.reply_text({"action": "set", "knobs": {"policy": rule[1]}})] = 1 - float(rule[2]) / twin
    order = sorted(saved, key=saved.get, reverse=True)
    margin = saved[order[0]] - saved[order[1]]
    return (order[0], margin) if saved[order[0]] > 0.02 else ('{"action":"keep"}', None)


def some(count, **more):
    names = more.pop("names", worlds.Names())
    return [w for index in range(count) for w in worlds.draw_group(5, index, 8, names, **more)]


class LayoutTest(unittest.TestCase):
    def test_prompts_are_those_of_the_program(self):
        lines = subprocess.run([SAMPLES], check=True, capture_output=True, text=True).stdout.splitlines()
        made = as_in_the_program()
        self.assertEqual(len(lines), len(made))
        for line, (facts, observation) in zip(lines, made):
            sample = json.loads(line)
            self.assertMultiLineEqual(prompts.system_message(facts), sample["system"])
            self.assertMultiLineEqual(prompts.user_message(facts, observation), sample["user"])

    def test_replies_are_compact_and_in_order(self):
        action = {"expected_impact": {"hit_rate": "increase", "rows": "decrease"}, "reason": "trying",
                  "knobs": {"window": 32.0, "decay": 0.5}, "action": "set"}
        self.assertEqual(prompts.reply_text(action), '{"action":"set","knobs":{"window":32,"decay":0.5},"reason":"trying",'
                         '"expected_impact":{"hit_rate":"increase","rows":"decrease"}}')
        with self.assertRaisesRegex(ValueError, "invalid action"):
            prompts.reply_text({"action": "set", "knob": 1})


class WorldsTest(unittest.TestCase):
    def test_the_text_tells_the_best_action(self):
        kinds = collections.Counter()
        for w in some(150):
            reply, margin = best_by_text(w.system(), w.user())
            self.assertEqual(reply, w.reply(), w.user())
            if margin is not None:
                self.assertGreater(margin, 0.02, w.user())
            kinds[w.kind] += 1
        self.assertEqual(set(kinds), set(worlds.KINDS))

    def test_a_seed_draws_the_same_again(self):
        self.assertEqual(some(3), some(3))
        self.assertNotEqual(some(1), [w for w in worlds.draw_group(6, 0, 8, worlds.Names())])

    def test_names_of_training_and_test_are_disjoint(self):
        def names(test):
            worlds_of = some(150, names=worlds.Names(test=test))
            found = set()
            for w in worlds_of:
                texts = [w.facts.start.values[0], w.facts.built_in] + [k.name for k in w.facts.knobs if k not in prompts.KNOBS]
                texts += [v for a in w.actions for v in a.get("knobs", {}).values() if isinstance(v, str)]
                found |= {word for text in texts for word in re.findall("[a-z]+", text)}
            return found - {"policy", "capacity"}

        trained, tested = names(False), names(True)
        self.assertGreater(len(trained), 1500)
        self.assertFalse(trained & tested)
        real = {"window", "scored", "lru", "lfu", "none", "static", "periodic", "clock", "optimal", "decay", "bulk"}
        self.assertFalse((trained | tested) & real)

    def test_worlds_of_a_group_share_the_system_message(self):
        self.assertEqual(len({w.system() for w in worlds.draw_group(5, 1, 8, worlds.Names())}), 1)


class ChanceTest(unittest.TestCase):
    """Without its history a prompt says nothing about the answer."""

    @classmethod
    def setUpClass(cls):
        cls.drawn = some(500, kinds=("policy", "knob", "replace"))

    def test_no_place_is_the_best_more_often_than_by_chance(self):
        count = collections.Counter(len(w.actions) for w in self.drawn)
        for size, total in count.items():
            if total < 200:
                continue
            places = collections.Counter(w.best for w in self.drawn if len(w.actions) == size)
            expected = total / size
            square = sum((places[i] - expected) ** 2 / expected for i in range(size))
            # Chi-square with size - 1 degrees: mean and five deviations.
            self.assertLess(square, size - 1 + 5 * math.sqrt(2 * (size - 1)), (size, places))

    def test_no_number_outside_of_the_history_differs_where_keep_is_best(self):
        columns = collections.defaultdict(lambda: ([], []))
        for w in self.drawn:
            numbers = [float(n.replace(",", "")) for n in re.findall(r"(?<![\w.-])\d[\d,]*\.?\d*", self.figures(w))]
            for place, value in enumerate(numbers):
                columns[w.kind, len(numbers), place][w.best == 0].append(math.log1p(value))
        looked_at = 0
        for place, (others, keeps) in columns.items():
            if min(len(others), len(keeps)) < 100:
                continue
            looked_at += 1
            self.assertLess(abs(self.deviation(others, keeps)), 4.5, place)
        self.assertGreater(looked_at, 20)

    @staticmethod
    def figures(world):
        """The numbers of the present: all lines but that of the setting."""
        return "\n".join(line for line in world.user(history=False).splitlines()[1:8] if "(" not in line or "demand" in line)

    @staticmethod
    def deviation(a, b):
        """The difference of two means in its own standard deviations."""
        def parts(x):
            mean = sum(x) / len(x)
            return mean, sum((v - mean) ** 2 for v in x) / (len(x) - 1) / len(x)
        (first, s), (second, t) = parts(a), parts(b)
        return (first - second) / math.sqrt(s + t) if s + t > 0 else 0

    def test_names_to_choose_from_stand_in_the_history_alone(self):
        for w in self.drawn[:400]:
            if w.kind != "policy":
                continue
            for action in w.actions[2:]:
                self.assertNotIn(" " + action["knobs"]["policy"] + " ", w.user(history=False))


if __name__ == "__main__":
    SAMPLES = sys.argv.pop(1)
    unittest.main()
