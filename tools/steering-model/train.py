"""Trains a steering model and writes it: model.safetensors, model.gguf, Modelfile, card.md, training.json.

    train.py OUT [--size 0.3] [--minutes 40 | --steps N] [--decisions FILE ...] [--held-out GRAPH ...]

The same options give the same files: what is drawn depends on the seed alone, and the number of threads is fixed.
"""
import argparse
import json
import math
import os
import random
import time

import torch
import torch.nn.functional as F

import batches
import card
import decisions as collected
import evaluate
import export_gguf
import files
import model
import vocabulary as words
import worlds

# Steps of 16 prompts per second, by size: how --minutes becomes steps. One thread of an AMD EPYC VM takes 0.54, 1.19,
# 2.05 and 4.27 s for a step; two are taken for half as fast again as one.
SPEED = {"0.3": 2.7, "1": 1.25, "2": 0.73, "5": 0.35}
RATE = {"0.3": 3e-3, "1": 2e-3, "2": 1.5e-3, "5": 1e-3}


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--size", default="0.3", choices=list(model.SIZES), help="millions of parameters")
    parser.add_argument("--minutes", type=float, default=40, help="how long it may take, about, on 2 cores")
    parser.add_argument("--steps", type=int, help="instead of --minutes")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, help="highest learning rate")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pieces", type=int, default=1700, help="size of the vocabulary")
    parser.add_argument("--most-lines", type=int, default=5, help="of history in made-up worlds")
    parser.add_argument("--prompt-loss", type=float, default=0, help="weight of the user's part beside the reply")
    parser.add_argument("--decisions", nargs="*", default=[], help="files of rudder agent collect --for llm")
    parser.add_argument("--held-out", nargs="*", default=[], help="graphs to test on alone")
    parser.add_argument("--test-groups", type=int, default=40, help="of 8 worlds, for the scores")
    return parser.parse_args()


def made_vocabulary(size, decisions):
    """A vocabulary for made-up prompts, whose names are left out of it, and for collected ones."""
    texts = []
    for index in range(60):
        for world in worlds.draw_group(0, index, 4, worlds.Placeholders()):
            texts += [world.system(), world.user()] + 2 * [world.reply()]
    for d in decisions[:: max(1, len(decisions) // 240)]:
        texts += [d.system, d.user] + [d.reply()]
    return words.train(texts, size)


class Source:
    """Batches by number: made-up worlds, and every second one of collected decisions where there are any."""

    def __init__(self, options, vocabulary, decisions, steps):
        self.options, self.vocabulary, self.steps = options, vocabulary, steps
        self.names = worlds.Names()
        self.groups = collected.groups(decisions, options.batch)
        random.Random(options.seed).shuffle(self.groups)

    def batch(self, step):
        if self.groups and step % 2:
            group = self.groups[step // 2 % len(self.groups)]
            return batches.batch_of(self.vocabulary, group[0].system, [(d.user, d.reply()) for d in group])
        # Few lines of history at first; all of them from the middle on.
        lines = 2 + round((self.options.most_lines - 2) * min(1, 2 * step / self.steps))
        group = worlds.draw_group(self.options.seed, step, self.options.batch, self.names, most_lines=lines)
        return batches.batch_of(self.vocabulary, group[0].system(), [(w.user(), w.reply()) for w in group])


def loss_of(config, weights, batch, prompt_loss):
    """What is to fall, the mean loss of the replies' tokens, and the share of them that are right.

    What is to fall is the loss of the replies; with prompt_loss also that of the user's part, at this weight."""
    states = batches.states_of(config, weights, batch)
    logits, targets, _ = batches.logits_at(weights, batch, states, zip(batch.begins, batch.ends))
    loss = F.cross_entropy(logits, targets)
    replies = loss.item()
    right = (logits.argmax(dim=-1) == targets).float().mean()
    if prompt_loss > 0:
        spans = [(1, begin - 1) for begin in batch.begins]
        loss = loss + prompt_loss * F.cross_entropy(*batches.logits_at(weights, batch, states, spans)[:2])
    return loss, replies, right.item()


def rate_at(step, steps, highest):
    """Up over the first twentieth, then down along a cosine to a tenth."""
    warm = max(1, steps // 20)
    if step < warm:
        return highest * (step + 1) / warm
    return highest * (0.1 + 0.45 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))))


def train(options, config, source, steps):
    """The weights after so many steps, and the course of the loss."""
    weights = model.initial(config, options.seed)
    matrices = [w for w in weights.values() if w.dim() > 1]
    vectors = [w for w in weights.values() if w.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0}],
                                  lr=1, betas=(0.9, 0.98))
    course, begun, sums = [], time.monotonic(), [0.0, 0.0, 0]
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps, options.rate or RATE[options.size])
        loss, replies, right = loss_of(config, weights, source.batch(step), options.prompt_loss)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimizer.step()
        sums = [sums[0] + replies, sums[1] + right, sums[2] + 1]
        if (step + 1) % max(1, steps // 40) == 0 or step + 1 == steps:
            course.append({"step": step + 1, "loss": round(sums[0] / sums[2], 4), "right": round(sums[1] / sums[2], 4),
                           "seconds": round(time.monotonic() - begun, 1)})
            print(json.dumps(course[-1]), flush=True)
            sums = [0.0, 0.0, 0]
    return weights, course


def main():
    options = options_of()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    os.makedirs(options.out, exist_ok=True)
    steps = options.steps or max(1, round(options.minutes * 60 * SPEED[options.size] * 16 / options.batch))
    learned, held = collected.split(collected.read_decisions(options.decisions), options.held_out)
    vocabulary = made_vocabulary(options.pieces, learned)
    config = model.config_of(options.size, len(vocabulary))
    print(f"{model.parameters(config)} parameters, {len(vocabulary)} pieces, {steps} steps of {options.batch}, "
          f"{len(learned)} decisions", flush=True)
    weights, course = train(options, config, Source(options, vocabulary, learned, steps), steps)
    path = os.path.join(options.out, "model.safetensors")
    files.write_model(path, card.config_words(config), vocabulary.tokens,
                      {name: w.detach().numpy() for name, w in weights.items()})
    # Scores are those of the file, whose weights are rounded.
    _, _, arrays = files.read_model(path)
    weights = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    scores = {
        "unseen names": evaluate.on_worlds(config, weights, vocabulary, worlds.Names(test=True), options.test_groups),
        "unseen names, without history": evaluate.on_worlds(config, weights, vocabulary, worlds.Names(test=True),
                                                            options.test_groups, history=False),
        "known graphs": evaluate.on_decisions(config, weights, vocabulary, learned[:400]),
        "held-out graphs": evaluate.on_decisions(config, weights, vocabulary, held[:400]),
    }
    export_gguf.export(path, options.out)
    record = {"options": vars(options), "steps": steps, "parameters": model.parameters(config), "course": course,
              "decisions": len(learned), "scores": scores}
    with open(os.path.join(options.out, "training.json"), "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
    with open(os.path.join(options.out, "card.md"), "w", encoding="utf-8") as out:
        out.write(card.text(record))
    print(evaluate.table(scores["unseen names"]))
    print(evaluate.table(scores["unseen names, without history"]))


if __name__ == "__main__":
    main()
