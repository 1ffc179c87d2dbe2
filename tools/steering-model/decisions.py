"""Collected decisions (`rudder agent collect --for llm`): what each action cost over the horizon, and what to learn."""
import dataclasses
import json

import prompts

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


def split(decisions, held_out):
    """Those to learn from, and those of the graphs that are held out."""
    return ([d for d in decisions if d.graph not in held_out], [d for d in decisions if d.graph in held_out])


def groups(decisions, size):
    """Decisions that share a system message, close in length, at most `size` together."""
    by_system = {}
    for d in decisions:
        by_system.setdefault(d.system, []).append(d)
    made = []
    for same in by_system.values():
        same.sort(key=lambda d: (len(d.user), d.step))
        made += [same[at : at + size] for at in range(0, len(same), size)]
    return made
