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


EFFECT = re.compile(r"^([+-]\d\d\.\d) % (\{.*\})$", re.M)


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


def effects_by_text(user):
    """The known effects as the prompt states them: per cents by reply."""
    return {reply: float(percent) for percent, reply in EFFECT.findall(user)}


def effects_by_rows(user):
    """The same, worked out of the rows of the past decisions and of the built-in rule, by a reader of its own."""
    now = float(re.search(r"^last \d+ steps: .*? rows_per_step ([\d.]+)", user, re.M)[1])
    setting = dict(part.rsplit(" ", 1) for part in re.search(r"^setting: (.*);$", user, re.M)[1].split("; "))
    found = {}
    for _, fraction, knob, value, status, before, after in LINE.findall(user):
        if status != "applied":
            continue
        if fraction:
            reply = {"action": "replace", "fraction": float(fraction)}
            found[prompts.reply_text(reply)] = 100 * (float(after) / float(before) - 1)
        else:
            value = value if knob == "policy" else value.replace(",", "")
            if setting.get(knob) == value:
                continue
            reply = {"action": "set", "knobs": {knob: value if knob == "policy" else float(value)}}
            found[prompts.reply_text(reply)] = 100 * (float(after) / now - 1)
    twin = float(re.search(r"^this setting on a sample .*?rows_per_step ([\d.]+)", user, re.M)[1])
    rule = re.search(r"^built-in rule on the same sample \((.*?), capacity .*?rows_per_step ([\d.]+)", user, re.M)
    found[prompts.reply_text({"action": "set", "knobs": {"policy": rule[1]}})] = 100 * (float(rule[2]) / twin - 1)
    return found


def best_by_text(user):
    """The reply that the words alone tell, and by how much it is better than the next."""
    order = sorted(effects_by_text(user).items(), key=lambda effect: effect[1])
    if not order or order[0][1] > -2:
        return '{"action":"keep"}', None
    return order[0][0], (order[1][1] if len(order) > 1 else 0) - order[0][1]


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
            reply, margin = best_by_text(w.user())
            self.assertEqual(reply, w.reply(), w.user())
            if margin is not None:
                self.assertGreater(margin, 2, w.user())
            kinds[w.kind] += 1
        self.assertEqual(set(kinds), set(worlds.KINDS))

    def test_effects_are_those_of_the_rows(self):
        for w in some(100):
            stated, found = effects_by_text(w.user()), effects_by_rows(w.user())
            self.assertLessEqual(set(found), set(stated), w.user())
            for reply, percent in found.items():
                # Rows are shown with one digit behind the point, and there may be few of them.
                self.assertAlmostEqual(stated[reply], min(99.9, percent), delta=0.8, msg=w.user())
            beside = {prompts.reply_text({"action": "set", "knobs": {"policy": p}}) for p, _ in w.observation.shadows}
            self.assertEqual(set(stated), set(found) | beside, w.user())

    def test_every_action_to_choose_from_has_an_effect(self):
        for names in (worlds.Names(), worlds.RealNames()):
            for w in some(60, names=names):
                told = effects_by_text(w.user())
                for action in w.actions[1:]:
                    self.assertIn(prompts.reply_text(action), told, w.user())
                self.assertEqual(best_by_text(w.user())[0], w.reply(), w.user())
                self.assertTrue(w.user().endswith(w.short()))

    def test_per_cents_always_take_the_same_places(self):
        self.assertEqual([prompts.against(v, b) for v, b in ((95.2, 100), (131.9, 100), (9, 1), (0, 4), (3, 0), (0, 0))],
                         ["-04.8 %", "+31.9 %", "+99.9 %", "-99.9 %", "+99.9 %", "+00.0 %"])

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
            for action in w.actions[1:]:
                for text in (f" {action['knobs']['policy']} ", f'"{action["knobs"]["policy"]}"'):
                    self.assertNotIn(text, w.user(history=False))


if __name__ == "__main__":
    SAMPLES = sys.argv.pop(1)
    unittest.main()
