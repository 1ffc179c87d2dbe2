"""Made-up worlds that must be read: names mean nothing, and only the prompt tells which action is best.

Names of policies and knobs are drawn letter by letter, what they do is drawn by chance, and which action is
best is drawn first, evenly, and all that stands outside of the history is drawn without looking at it: a
prompt without its history says nothing about the answer (kinds policy, knob and replace).
"""
import dataclasses
import random
import re
import zlib

import prompts
from prompts import BULK, CAPACITY, KNOBS, POLICY, Facts, Observation, Past, Setting, Window

KINDS = ("policy", "knob", "replace", "shadow", "both")
LEAST = 0.03    # what the best action saves at least, and by how much more than the next best
MOST_KEPT = 0.01  # what others save at most where the answer is to keep
NOISE = 0.002   # of a reading
MOST_SHADOWS = 7  # beside that of the built-in rule
FRACTIONS = (0.1, 0.25, 0.5, 1)
# What knobs may be set to, by their place in the list.
VALUES = {1: (2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128), 3: (0.5, 0.75, 0.9, 0.95, 0.99, 0.999),
          5: (0, 1, 2, 3, 4, 6, 8, 12, 16), 6: (16, 32, 64, 128, 256, 512, 1024, 2048),
          7: (1, 2, 3, 4, 6, 8, 12, 16), 8: (1, 2, 3, 4, 6, 8)}
RENAMED = (1, 3, 4, 5, 6, 7, 8, 9, 10, 11)
_WORDS = re.compile("[a-z]+")


@dataclasses.dataclass(frozen=True)
class World:
    kind: str
    facts: Facts
    observation: Observation
    actions: tuple  # what the text tells about, keep first
    best: int       # the place of the best among them

    def system(self):
        return prompts.system_message(self.facts)

    def user(self, history=True):
        o = self.observation if history else dataclasses.replace(self.observation, history=())
        return prompts.user_message(self.facts, o)

    def short(self):
        return prompts.short_message(self.facts, self.observation)

    def reply(self):
        return prompts.reply_text(self.actions[self.best])


class Names:
    """Draws names; those for training and those for tests have none in common."""

    def __init__(self, test=False):
        self.test = test
        words = prompts.TASK + prompts.FORM + " ".join(prompts.COSTS.values())
        words += " ".join(f"{k.name} {k.sentence} {k.cost}" for k in KNOBS)
        words += " none static degree random vip lru lfu clock periodic scored faithful window optimal every"
        self._taken = set(_WORDS.findall(words.lower()))

    def draw(self, r):
        while True:
            name = "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(r.randint(3, 7)))
            if name not in self._taken and (zlib.crc32(name.encode()) % 8 == 0) == self.test:
                return name

    def policy(self, r):
        name, form = self.draw(r), r.random()
        if form < 0.1:
            return f"{name}-{self.draw(r)}"
        if form < 0.35:
            return f"{name}:{r.choice((2, 4, 8, 16, 32, 64))}"
        if form < 0.45:
            return f"{name},{self.draw(r)}:{r.choice((2, 4, 8, 16, 32, 64))}"
        return name


    def knob(self, r, name):
        """What a knob is called."""
        return self.draw(r)


class Placeholders(Names):
    """Digits in the place of names, which merge with nothing: for the vocabulary."""

    def draw(self, r):
        return str(r.randint(0, 9))


class RealNames(Names):
    """The program's own: what they do is drawn all the same."""

    POLICIES = ("window:4", "window:16", "window:64", "window:32", "scored,every:16", "scored,every:8", "scored",
                "scored-faithful", "lru", "lfu", "static-degree", "static-vip", "clock", "periodic:64")

    def policy(self, r):
        return r.choice(self.POLICIES)

    def knob(self, r, name):
        return name


def draw_facts(r, names):
    """A run: what its system message says."""
    knobs = list(KNOBS)
    for place in RENAMED:
        knobs[place] = dataclasses.replace(knobs[place], name=names.knob(r, knobs[place].name))
    slots = r.choice((1000, 1200, 2500, 4000, 8000, 12000, 20000, 50000, 100000))
    per_epoch = r.randint(10, 400)
    narrow = {1: f"1 to {r.choice((128, 256, 512, 1024))}", CAPACITY: f"0 to {slots}",
              7: f"1 to {r.choice((16, 32, 64))}", 8: f"1 to {r.choice((8, 16))}", 10: "1 to 2",
              11: f"0 to {r.choice((0, 4, 6))}"}
    for place, text in narrow.items():
        knobs[place] = dataclasses.replace(knobs[place], range=text)
    built_in = first = names.policy(r)
    while built_in == first:
        built_in = names.policy(r)
    start = Setting((first, None, slots, None, None, None, 0, 1, 1, 1, 2, 0))
    for place in (BULK, 7, 8):
        if r.random() < 0.3:
            start = start.with_value(place, r.choice(VALUES[place]))
    return Facts(per_epoch * r.randint(4, 60), per_epoch, slots, start, built_in, tuple(knobs),
                 about=_about(r, per_epoch) if r.random() < 0.5 else "")


def _about(r, per_epoch):
    parts = r.choice((2, 4, 8))
    return (f"graph: {r.randint(2000, 900000)} vertices, {r.randint(9000, 9000000)} edges, {parts} parts\n"
            f"run: {parts} ranks on {parts} hosts, model {r.choice(('sage', 'gcn', 'gat'))} of 2 layers, batches of "
            f"{r.choice((100, 200, 512, 1000))} seeds per part, {r.randint(4, 15)},{r.randint(6, 25)} neighbours "
            f"per layer\nsteps per epoch: {per_epoch}, epochs: {r.randint(4, 60)}")


def draw_savings(r, count, best):
    """What each other action saves against the present, as a share; `best` of them clearly the most, or none."""
    if best is None:
        return [MOST_KEPT - 0.6 * r.random() ** 2 for _ in range(count)]
    top = LEAST + 0.5 * r.random() ** 1.5
    return [top if i == best else top - LEAST - 0.6 * r.random() ** 1.5 for i in range(count)]


class _Readings:
    """Turns costs into rows and hit rates, with a little noise."""

    def __init__(self, r):
        self.r = r
        self.rows = 10 ** r.uniform(1.5, 3.6)  # fetched per step at present
        self.needed = self.rows * r.uniform(1.9, 8)
        self.share = r.uniform(0.7, 1)  # of them on demand
        self.apart = r.random() < 0.2   # hit rates that tell nothing of rows

    def window(self, cost):
        rows = self.rows * cost * self.r.uniform(1 - NOISE, 1 + NOISE)
        share = self.r.uniform(0.3, 1) if self.apart else self.share
        demand = min(share * rows, self.needed)
        return Window(1 - demand / self.needed, rows, self.needed, demand, *self._others(rows - demand))

    def _others(self, rest):
        replaced = rest * self.r.random()
        return replaced, rest - replaced, rest * 0.1 * self.r.random()


class _Story:
    """The past of a run that tried one thing after the other; costs are relative to the present one."""

    def __init__(self, r, readings, facts):
        self.r, self.readings = r, readings
        self.step = r.randint(8, 400)
        self.gap = r.choice((8, 16, 16, 16, 32))
        self.verdicts = r.random() < 0.5
        self.lines = []

    def tell(self, action, status, before, after):
        judged = self.verdicts and status != "refused"
        correct = after <= before if judged else None
        self.lines.append(Past(self.step, action, status, self.readings.window(before),
                               self.readings.window(after), correct))
        self.step += self.gap * self.r.randint(1, 3)


def _set(knob, value):
    return {"action": "set", "knobs": {knob: value}}


def _policies(r, names, facts, count):
    """Different ones, none of them the built-in rule or what the run began with."""
    policies = []
    while len(policies) < count:
        policy = names.policy(r)
        if policies and ":" in policies[-1] and r.random() < 0.3:  # the same name with another number
            policy = policies[-1].rsplit(":", 1)[0] + f":{r.choice((3, 6, 12, 24, 48))}"
        if policy not in policies and policy not in (facts.start.values[POLICY], facts.built_in):
            policies.append(policy)
    return policies


def _tried(r, kind, names, facts, count):
    """What is tried, one after the other: names of policies, or values of one knob."""
    if kind == "knob":
        place = r.choice(sorted(VALUES))
        return place, r.sample(VALUES[place], min(count, len(VALUES[place])))
    return POLICY, _policies(r, names, facts, count)


def _draw_set(r, names, facts, kind, lines):
    """Policies or values of a knob were tried in turn; the last one is the present setting."""
    readings = _Readings(r)
    beside = _policies(r, names, facts, r.randint(1, MOST_SHADOWS) if kind == "both" else 0)
    place, tried = _tried(r, kind, names, facts, lines)
    beside = [policy for policy in beside if policy not in tried]
    knob, others = facts.knobs[place].name, tried[:-1]
    actions = [{"action": "keep"}] + [_set(knob, value) for value in others]
    actions += [_set("policy", value) for value in beside + [facts.built_in] if kind == "both"]
    best = r.randrange(len(actions))
    saved = draw_savings(r, len(actions) - 1, best - 1 if best else None)
    # What it began with has no line in the text, so it is no better than the present.
    costs = [1 + 0.5 * r.random()] + [1 - s for s in saved[: len(others)]] + [1.0]
    story = _Story(r, readings, facts)
    for i, value in enumerate(tried):
        before, after = costs[i], costs[i + 1]
        if r.random() < 0.12:
            _tell_in_vain(r, story, place, knob, kind, names, before, tried + beside)
        story.tell(_set(knob, value), "applied", before, after)
    setting = _setting(r, facts, place, tried[-1])
    shadows = list(zip(beside + [facts.built_in], saved[len(others) :])) if kind == "both" else None
    return _world(r, names, kind, facts, setting, readings, story, actions, best, shadows)


def _tell_in_vain(r, story, place, knob, kind, names, cost, tried):
    """A change that was refused, or was worse and undone: nothing to go back to."""
    left = [v for v in VALUES[place] if v not in tried] if kind == "knob" else [p for p in (names.policy(r),) if p not in tried]
    if left and r.random() < 0.5:
        story.tell(_set(knob, r.choice(left)), "refused", cost, cost)
    elif left:
        story.tell(_set(knob, r.choice(left)), "undone", cost, cost * r.uniform(1.05, 1.6))


def _setting(r, facts, place, value):
    setting = facts.start.with_value(POLICY, value) if place == POLICY else facts.start
    for parameter in (1, 3, 5):
        if r.random() < 0.4:
            setting = setting.with_value(parameter, r.choice(VALUES[parameter]))
    return setting if place == POLICY else setting.with_value(place, value)


def _draw_replace(r, names, facts, kind, lines):
    """Shares of the buffer were replaced; what each replacement did stands in its line."""
    readings = _Readings(r)
    fractions = r.sample(FRACTIONS, min(lines, len(FRACTIONS)))
    actions = [{"action": "keep"}] + [{"action": "replace", "fraction": f} for f in sorted(fractions)]
    best = r.randrange(len(actions))
    saved = dict(zip(sorted(fractions), draw_savings(r, len(fractions), best - 1 if best else None)))
    story = _Story(r, readings, facts)
    for i, fraction in enumerate(fractions):
        last = i + 1 == len(fractions)
        before = 1 / (1 - saved[fraction]) if last else r.uniform(0.9, 1.1)
        story.tell({"action": "replace", "fraction": fraction}, "applied", before, before * (1 - saved[fraction]))
    setting = _setting(r, facts, POLICY, facts.start.values[POLICY])
    return _world(r, names, kind, facts, setting, readings, story, actions, best)


def _draw_shadow(r, names, facts, kind, lines):
    """Only what ran beside the run tells something."""
    readings = _Readings(r)
    policies = _policies(r, names, facts, r.randint(0, MOST_SHADOWS)) + [facts.built_in]
    actions = [{"action": "keep"}] + [_set("policy", policy) for policy in policies]
    best = r.randrange(len(actions))
    saved = draw_savings(r, len(policies), best - 1 if best else None)
    story = _Story(r, readings, facts)
    setting = _setting(r, facts, POLICY, facts.start.values[POLICY])
    return _world(r, names, kind, facts, setting, readings, story, actions, best, list(zip(policies, saved)))


def _world(r, names, kind, facts, setting, readings, story, actions, best, shadows=None):
    """The observation of the present; `shadows`: policies with what each saves, the built-in rule last."""
    lines = story.lines
    last = lines[-1].after if lines else readings.window(1)
    sample = r.uniform(0.94, 1.06)
    if shadows is None:  # they tell nothing
        tried = {past.action.get("knobs", {}).get("policy") for past in lines} | {setting.values[POLICY]}
        policies = [p for p in _policies(r, names, facts, r.choice((0, 0, 0, 2, 4, 6))) if p not in tried]
        policies.append(facts.built_in)
        shadows = [(policy, MOST_KEPT - 0.5 * r.random() ** 2) for policy in policies]
    twin = readings.window(sample)
    beside = tuple((policy, readings.window(sample * (1 - saved))) for policy, saved in shadows)
    total = readings.window(r.uniform(0.85, 1.2))
    told = kind == "replace" or r.random() < 0.3
    step = min(story.step, facts.steps - 64) if facts.steps > 80 else facts.steps // 2
    observation = Observation(
        step, story.gap, last, total, twin, beside[-1][1], r.choice((64, 128, 400, 512, 1024, 2000)),
        r.randint(2000, 90000), r.randint(0, 999) if told else 0, story.gap * r.randint(0, 3), setting, told,
        history=tuple(lines), shadows=beside[:-1])
    return World(kind, facts, observation, tuple(actions), best)


_DRAW = {"policy": _draw_set, "both": _draw_set, "knob": _draw_set, "replace": _draw_replace,
         "shadow": _draw_shadow}
_SHARES = (("policy", 30), ("knob", 18), ("replace", 12), ("shadow", 25), ("both", 15))


def draw_group(seed, index, count, names, kinds=KINDS, most_lines=5):
    """`count` worlds of one run, which share the system message; always the same for a seed and an index."""
    r = random.Random(f"worlds/{seed}/{index}/{int(names.test)}")
    facts = draw_facts(r, names)
    lines = r.randint(2, most_lines)
    shares = [(k, w) for k, w in _SHARES if k in kinds]
    drawn = r.choices([k for k, _ in shares], [w for _, w in shares], k=count)
    return [_DRAW[kind](r, names, facts, kind, lines) for kind in drawn]
