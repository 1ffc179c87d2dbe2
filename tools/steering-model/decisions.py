"""Collected decisions (`rudder agent collect --for llm`): what each action cost over the horizon, and what to learn."""
import dataclasses
import json
import re
import zlib

import prompts
from questions import Question

LEAST = 0.005  # the best action must save this share of the cost of keeping, else to keep is right


@dataclasses.dataclass(frozen=True)
class Decision:
    graph: str
    step: int
    system: str
    user: str
    actions: tuple
    costs: tuple
    keep: int  # the place of `keep` among the actions

    def target(self):
        """The place of the action to learn."""
        best = min(range(len(self.costs)), key=lambda i: (self.costs[i], i != self.keep, i))
        return best if self.costs[best] < (1 - LEAST) * self.costs[self.keep] else self.keep

    def reply(self):
        return prompts.reply_text(self.actions[self.target()])


def _decision(line, where):
    try:
        sample = json.loads(line)
        actions = tuple(a["reply"] for a in sample["actions"])
        timed = all(a.get("seconds") is not None for a in sample["actions"])
        paid = "seconds" if timed and f"\n{prompts.COSTS['seconds']}\n" in sample["system"] else "rows"
        costs = tuple(float(a[paid]) for a in sample["actions"])
        made = Decision(sample["graph"], int(sample["step"]), sample["system"], sample["user"], actions, costs,
                        int(sample["keep"]))
        for action in actions:
            prompts.reply_text(action)
        if not 0 <= made.keep < len(actions) or actions[made.keep]["action"] != "keep":
            raise ValueError("'keep' is not the place of the action keep")
        return made
    except (KeyError, TypeError, ValueError) as error:
        raise SystemExit(f"invalid sample: {error!r}\n  {where}\n  collect the samples again") from None


def read_decisions(paths):
    """All decisions of some files of JSON lines."""
    decisions = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            decisions += [_decision(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    return decisions


def is_held_out(graph, held_out, every):
    """Whether a graph is one of these names, or one of `every` by the checksum of its name (0: none)."""
    return graph in held_out or (every > 0 and zlib.crc32(graph.encode()) % every == 0)


def split(decisions, held_out, every=0):
    """Those to learn from, and those of the graphs that are held out."""
    out = [is_held_out(d.graph, held_out, every) for d in decisions]
    return [d for d, o in zip(decisions, out) if not o], [d for d, o in zip(decisions, out) if o]


NAMES = ("lru", "lfu", "clock", "window", "scored", "static-degree", "static-vip", "static-random")
_WORD = re.compile("[A-Za-z0-9_-]+")


def permuted_names(r):
    """The program's names of policies, each in the place of another one."""
    return dict(zip(NAMES, r.sample(NAMES, len(NAMES))))


def made_up_names(r, names):
    """Names drawn letter by letter in the place of the program's."""
    drawn = {}
    while len(drawn) < len(NAMES):
        drawn[names.draw(r)] = None
    return dict(zip(NAMES, drawn))


def renamed(text, to):
    """Other names in the place of these, wherever they stand as a word."""
    return _WORD.sub(lambda word: to.get(word[0], word[0]), text)


def question(decision, to=None):
    """What is asked, with other names where some are given."""
    words = (lambda text: renamed(text, to)) if to else str
    return Question(words(decision.system), words(decision.user), tuple(words(prompts.reply_text(a)) for a in decision.actions),
                    decision.target(), decision.costs, decision.keep)
