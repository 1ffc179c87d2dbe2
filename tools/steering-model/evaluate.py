"""How often the best action is chosen: in worlds with names never seen, and in collected decisions."""
import collections

import torch

import batches
import model
import prompts
import worlds
from vocabulary import END

TOLD_BY_HISTORY = ("policy", "knob", "replace")


def likelihoods(config, weights, vocabulary, system, user, actions):
    """The log-likelihood of each action's reply; what stands before the replies is computed once."""
    head, row = vocabulary.prompt(system, user)
    _, past = model.forward(config, weights, torch.tensor([head + row[:-1]]))
    replies = [row[-1:] + vocabulary.encode(prompts.reply_text(a)) + [END] for a in actions]
    longest = max(map(len, replies))
    tokens = torch.tensor([r + [END] * (longest - len(r)) for r in replies])
    states, _ = model.forward(config, weights, tokens, past)
    each = torch.log_softmax(model.logits(weights, states[:, :-1]), dim=-1).gather(2, tokens[:, 1:, None])[..., 0]
    return torch.stack([each[i, : len(r) - 1].sum() for i, r in enumerate(replies)])


@torch.no_grad()
def on_worlds(config, weights, vocabulary, names, groups, seed=1_000_003, history=True, most_lines=5):
    """Shares by kind: `chosen`, the best among the actions told; `written`, the reply word by word; `chance`."""
    counts = collections.defaultdict(lambda: collections.Counter())
    kinds = worlds.KINDS if history else TOLD_BY_HISTORY
    for index in range(groups):
        group = worlds.draw_group(seed, index, 8, names, kinds, most_lines)
        system = group[0].system()
        pairs = [(w.user(history), w.reply()) for w in group]
        logits, targets, rows = batches.reply_logits(config, weights, batches.batch_of(vocabulary, system, pairs))
        wrong = set(rows[logits.argmax(dim=-1) != targets].tolist())
        for row, world in enumerate(group):
            scores = likelihoods(config, weights, vocabulary, system, pairs[row][0], world.actions)
            seen = {"worlds": 1, "chosen": int(scores.argmax()) == world.best, "written": row not in wrong,
                    "chance": 1 / len(world.actions), "keep": world.best == 0}
            for kind in (world.kind, "all"):
                counts[kind].update({key: float(value) for key, value in seen.items()})
    return {kind: {"worlds": int(c["worlds"])} | {k: c[k] / c["worlds"] for k in ("chosen", "written", "chance", "keep")}
            for kind, c in counts.items()}


@torch.no_grad()
def on_decisions(config, weights, vocabulary, decisions):
    """Of collected decisions: the share no worse than to keep, and cost over that of the best action, less 1."""
    if not decisions:
        return None
    no_worse, cost, least = 0, 0.0, 0.0
    for d in decisions:
        scores = likelihoods(config, weights, vocabulary, d.system, d.user, d.actions)
        chosen = d.costs[int(scores.argmax())]
        no_worse += chosen <= d.costs[d.keep]
        cost += chosen / max(d.costs[d.keep], 1e-9)
        least += min(d.costs) / max(d.costs[d.keep], 1e-9)
    return {"decisions": len(decisions), "no worse than keep": no_worse / len(decisions),
            "over the best": cost / least - 1, "keep over the best": len(decisions) / least - 1}


def table(shares):
    lines = [f"| {'kind':8} | worlds | chosen | written | chance |", "| --- | ---: | ---: | ---: | ---: |"]
    for kind in sorted(shares, key=lambda k: (k != "all", k)):
        s = shares[kind]
        lines.append(f"| {kind:8} | {s['worlds']:6} | {s['chosen']:6.3f} | {s['written']:7.3f} | {s['chance']:6.3f} |")
    return "\n".join(lines)
