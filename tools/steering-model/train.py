"""Trains a steering model and writes it: model.safetensors, model.gguf, Modelfile, card.md, training.json.

    train.py OUT [--size 0.3] [--minutes 40 | --steps N] [--decisions FILE ...] [--held-out GRAPH ...]

First it learns to read: --short prompts that are nothing but known effects and the question, without a system message,
a tenth as long as whole ones. Then whole prompts, of made-up worlds and of collected decisions.
The same options give the same files: what is drawn depends on the seed alone, and the number of threads is fixed. It
may be ended at any time: called again with the same options it goes on from OUT/checkpoint.pt, to the same files.
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

# Steps of 16 whole prompts per second, by size: how --minutes becomes steps. One thread of an AMD EPYC VM takes 0.54,
# 1.19, 2.05 and 4.27 s for a step; two are taken for half as fast again as one.
SPEED = {"0.3": 2.7, "1": 1.25, "2": 0.73, "5": 0.35}
RATE = {"0.3": 3e-3, "1": 2e-3, "2": 1.5e-3, "5": 1e-3}


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--size", default="0.3", choices=list(model.SIZES), help="millions of parameters")
    parser.add_argument("--minutes", type=float, default=40, help="how long it may take, about, on 2 cores")
    parser.add_argument("--steps", type=int, help="of whole prompts, instead of --minutes")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--short", type=int, help="steps before these, of short prompts (default: two of three)")
    parser.add_argument("--short-batch", type=int, default=64)
    parser.add_argument("--rate", type=float, help="highest learning rate")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pieces", type=int, default=1700, help="size of the vocabulary")
    parser.add_argument("--most-lines", type=int, default=5, help="of history in made-up worlds")
    parser.add_argument("--prompt-loss", type=float, default=0, help="weight of the user's part beside the reply")
    parser.add_argument("--decisions", nargs="*", default=[], help="files of rudder agent collect --for llm")
    parser.add_argument("--held-out", nargs="*", default=[], help="graphs to test on alone")
    parser.add_argument("--test-groups", type=int, default=40, help="of 8 worlds, for the scores")
    parser.add_argument("--checkpoint", type=int, default=100, help="steps between two checkpoints")
    parser.add_argument("--finish", action="store_true", help="write the model as the checkpoint has it, and learn no more")
    return parser.parse_args()


def made_vocabulary(size):
    """A vocabulary for prompts, in which made-up names are left out."""
    texts = []
    for index in range(60):
        names = worlds.RealNames() if index % 3 == 2 else worlds.Placeholders()
        for world in worlds.draw_group(0, index, 4, names):
            texts += [world.system(), world.user()] + 2 * [world.reply()]
    return words.train(texts, size)


def steps_of(options):
    """Of short prompts, and of whole ones; a step of 64 short ones takes about as long as one of 16 whole ones."""
    if options.steps:
        return 2 * options.steps if options.short is None else options.short, options.steps
    all_steps = max(2, round(options.minutes * 60 * SPEED[options.size] * 16 / options.batch))
    short = 2 * all_steps // 3 if options.short is None else min(options.short, all_steps - 1)
    return short, all_steps - short


class Source:
    """Batches by number: short prompts first, then made-up worlds, and every second one of collected decisions where
    there are any."""

    MIXED = 4  # batches of short prompts that are drawn together and sorted by length

    def __init__(self, options, vocabulary, decisions, steps):
        self.options, self.vocabulary, self.steps = options, vocabulary, steps
        self.names = (worlds.Names(), worlds.Names(), worlds.Names(), worlds.RealNames())
        self.groups = collected.groups(decisions, options.batch)
        random.Random(options.seed).shuffle(self.groups)
        self.drawn = (None, [])

    def lines(self, step, steps):
        """Of history, at most: few at first, all from the middle on."""
        return 2 + round((self.options.most_lines - 2) * min(1, 2 * step / steps))

    def short_batch(self, step):
        group, place = divmod(step, self.MIXED)
        size = self.options.short_batch
        if self.drawn[0] != group:
            made, lines = [], self.lines(step, self.options.short)
            for part in range(size * self.MIXED // 16):
                made += worlds.draw_group(f"{self.options.seed}/short", group * 1000 + part, 16,
                                          self.names[part % 4], most_lines=lines)
            pairs = sorted(((w.short(), w.reply()) for w in made), key=lambda pair: (len(pair[0]), pair))
            self.drawn = (group, pairs)
        pairs = self.drawn[1][place * size : (place + 1) * size]
        return batches.batch_of(self.vocabulary, "", pairs)

    def batch(self, step):
        if step < self.options.short:
            return self.short_batch(step)
        step -= self.options.short
        if self.groups and step % 2:
            group = self.groups[step // 2 % len(self.groups)]
            return batches.batch_of(self.vocabulary, group[0].system, [(d.user, d.reply()) for d in group])
        lines = self.lines(step, self.steps)
        group = worlds.draw_group(self.options.seed, step, self.options.batch, self.names[step // 2 % 4], most_lines=lines)
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


def checkpoint_of(options):
    """What an earlier call with these options left; None: nothing."""
    path = os.path.join(options.out, "checkpoint.pt")
    if not os.path.exists(path):
        return None
    kept = torch.load(path, weights_only=False)
    return kept if kept["options"] == vars(options) | {"finish": False} else None


def keep_checkpoint(options, step, tokens, weights, optimizer, course):
    path = os.path.join(options.out, "checkpoint.pt")
    torch.save({"options": vars(options) | {"finish": False}, "step": step, "tokens": tokens, "weights": weights,
                "optimizer": optimizer.state_dict(), "course": course}, path + ".new")
    os.replace(path + ".new", path)


def train(options, config, source, steps, stop=None):
    """The weights after so many steps, or those of the checkpoint at which it is to stop, and the course of the loss."""
    weights, course, first = model.initial(config, options.seed), [], 0
    kept = checkpoint_of(options)
    if kept:
        weights, course, first = kept["weights"], kept["course"], kept["step"]
    if stop == 0:
        return weights, course
    matrices = [w for w in weights.values() if w.dim() > 1]
    vectors = [w for w in weights.values() if w.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0}],
                                  lr=1, betas=(0.9, 0.98))
    if kept:
        optimizer.load_state_dict(kept["optimizer"])
    seconds, sums = time.process_time(), [0.0, 0.0, 0]
    for step in range(first, steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps, options.rate or RATE[options.size])
        loss, replies, right = loss_of(config, weights, source.batch(step), options.prompt_loss)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimizer.step()
        sums = [sums[0] + replies, sums[1] + right, sums[2] + 1]
        if (step + 1) % options.checkpoint == 0 or step + 1 == steps:
            course.append({"step": step + 1, "loss": round(sums[0] / sums[2], 4), "right": round(sums[1] / sums[2], 4),
                           "processor_seconds": round(time.process_time() - seconds, 1)})
            print(json.dumps(course[-1]), flush=True)
            keep_checkpoint(options, step + 1, source.vocabulary.tokens, weights, optimizer, course)
            seconds, sums = time.process_time(), [0.0, 0.0, 0]
            if step + 1 == stop:
                break
    return weights, course


def main():
    options = options_of()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    os.makedirs(options.out, exist_ok=True)
    options.short, options.steps = steps_of(options)
    learned, held = collected.split(collected.read_decisions(options.decisions), options.held_out)
    kept = checkpoint_of(options)
    vocabulary = words.Vocabulary(kept["tokens"]) if kept else made_vocabulary(options.pieces)
    config = model.config_of(options.size, len(vocabulary))
    print(f"{model.parameters(config)} parameters, {len(vocabulary)} pieces, {options.short} steps of {options.short_batch} "
          f"short prompts and {options.steps} of {options.batch} whole ones, {len(learned)} decisions", flush=True)
    source = Source(options, vocabulary, learned, options.steps)
    weights, course = train(options, config, source, options.short + options.steps, stop=0 if options.finish else None)
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
    record = {"options": vars(options), "steps": course[-1]["step"] if course else 0, "parameters": model.parameters(config), "course": course,
              "decisions": len(learned), "scores": scores}
    with open(os.path.join(options.out, "training.json"), "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
    with open(os.path.join(options.out, "card.md"), "w", encoding="utf-8") as out:
        out.write(card.text(record))
    print(evaluate.table(scores["unseen names"]))
    print(evaluate.table(scores["unseen names, without history"]))


if __name__ == "__main__":
    main()
