"""How often the best action is chosen: in worlds with names never seen, and in collected decisions.

    evaluate.py MODEL [--device cuda] [--groups 40] [--decisions FILE ...]     prints one JSON object
"""
import argparse
import collections
import json
import random

import torch

import batches
import decisions as collected
import files
import model
import prompts
import vocabulary as words
import worlds
from questions import Question

TOLD_BY_HISTORY = ("policy", "knob", "replace")
ROWS = 64  # questions at a time
TELLING = 0.98  # of the cost of keeping: an action that costs less is told from it
YES = {"action": "replace", "fraction": 1}


def asked(world, history=True):
    """A made-up world as a question."""
    return Question(world.system(), world.user(history), tuple(prompts.reply_text(a) for a in world.actions), world.best)


class Judge:
    """A model, as it is asked here."""

    def __init__(self, config, weights, vocabulary, device="cpu"):
        self.config, self.weights, self.vocabulary = config, weights, vocabulary
        self.turns = tuple(part.to(device) for part in model.turns(config, 0, config.context))
        self.device = device

    @torch.no_grad()
    def answers(self, questions):
        """For each: the log-likelihoods of its replies, and whether the right one would be written to the letter."""
        for at in range(0, len(questions), ROWS):
            batch = batches.batch_of(self.vocabulary, questions[at : at + ROWS]).to(self.device)
            found = batches.scored(self.config, self.weights, batch, self.turns)
            wrong = set(batch.row[batches.of_best(batch) & ~found.likeliest].tolist())
            for row, scores in enumerate(found.replies.cpu()):
                yield scores, row not in wrong


def on_worlds(judge, names, groups, seed=1_000_003, history=True, most_lines=5):
    """Shares by kind: `chosen`, the best among the actions told; `written`, the reply word by word; `chance`."""
    kinds = worlds.KINDS if history else TOLD_BY_HISTORY
    drawn = [world for index in range(groups) for world in worlds.draw_group(seed, index, 8, names, kinds, most_lines)]
    counts = collections.defaultdict(collections.Counter)
    for world, (scores, written) in zip(drawn, judge.answers([asked(world, history) for world in drawn])):
        seen = {"worlds": 1, "chosen": int(scores.argmax()) == world.best, "written": written,
                "chance": 1 / len(world.actions), "keep": world.best == 0}
        for kind in (world.kind, "all"):
            counts[kind].update({key: float(value) for key, value in seen.items()})
    return {kind: {"worlds": int(c["worlds"])} | {k: c[k] / c["worlds"] for k in ("chosen", "written", "chance", "keep")}
            for kind, c in counts.items()}


def _balanced(right):
    """The mean of the shares that are right, by label; None where a label is missing."""
    if not (right[True] and right[False]):
        return None
    return sum(sum(one) / len(one) for one in right.values()) / 2


def on_decisions(judge, decisions, permuted=False):
    """Of collected decisions: the share no worse than to keep, cost over that of the best action, less 1, how often the best is chosen
    where it saves over 2 %, and the balanced accuracy of yes and no, between keeping and replacing all."""
    if not decisions:
        return None
    questions = [collected.question(d, collected.permuted_names(random.Random(f"names/{i}")) if permuted else None)
                 for i, d in enumerate(decisions)]
    no_worse, cost, least, telling, best = 0, 0.0, 0.0, 0, 0
    right = {False: [], True: []}
    for d, (scores, _) in zip(decisions, judge.answers(questions)):
        keeping, lowest = max(d.costs[d.keep], 1e-9), min(d.costs)
        chosen = d.costs[int(scores.argmax())]
        no_worse += chosen <= d.costs[d.keep]
        cost += chosen / keeping
        least += lowest / keeping
        if lowest < TELLING * d.costs[d.keep]:
            telling += 1
            best += chosen == lowest
        if YES in d.actions:
            place = d.actions.index(YES)
            label = d.costs[place] < d.costs[d.keep]
            right[label].append(bool(scores[place] > scores[d.keep]) == label)
    return {"decisions": len(decisions), "no worse than keep": no_worse / len(decisions),
            "over the best": cost / least - 1, "keep over the best": len(decisions) / least - 1,
            "telling": telling, "best chosen of these": best / telling if telling else None,
            "yes or no": len(right[True]) + len(right[False]), "balanced": _balanced(right)}


def table(shares):
    lines = [f"| {'kind':8} | worlds | chosen | written | chance |", "| --- | ---: | ---: | ---: | ---: |"]
    for kind in sorted(shares, key=lambda k: (k != "all", k)):
        s = shares[kind]
        lines.append(f"| {kind:8} | {s['worlds']:6} | {s['chosen']:6.3f} | {s['written']:7.3f} | {s['chance']:6.3f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--groups", type=int, default=40, help="of 8 made-up worlds")
    parser.add_argument("--decisions", nargs="*", default=[])
    options = parser.parse_args()
    config, tokens, arrays = files.read_model(options.model)
    weights = {name: torch.from_numpy(array.copy()).to(options.device) for name, array in arrays.items()}
    judge = Judge(model.Config(**config), weights, words.Vocabulary(tokens), options.device)
    decisions = collected.read_decisions(options.decisions)
    found = {"unseen names": on_worlds(judge, worlds.Names(test=True), options.groups)}
    for graph in sorted({d.graph for d in decisions}):
        of_graph = [d for d in decisions if d.graph == graph]
        found[graph] = on_decisions(judge, of_graph)
        found[f"{graph}, names changed about"] = on_decisions(judge, of_graph, permuted=True)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
