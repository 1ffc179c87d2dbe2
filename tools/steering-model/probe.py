"""How numbers should be written: the same small model learns which of some letters costs least, in several layouts.

    probe.py [--layouts plain padded ...] [--steps 500] [--lines 3]

The prompt is nothing but letters with their costs and that of the present; the reply is the cheapest one, or keep.
"""
import argparse
import random
import time

import torch

import batches
import evaluate
import model
import train
import worlds
from questions import Question

LAYOUTS = {
    "plain": lambda cost, now: f"{cost:.1f}",           # as prompts have it
    "padded": lambda cost, now: f"{cost:07.1f}",        # the same digits in the same places
    "per cent": lambda cost, now: f"{100 * (cost / now - 1):+.1f}",    # against the present
    "padded per cent": lambda cost, now: f"{100 * (cost / now - 1):+05.1f}",
}


def questions(r, count, lines, layout):
    """Prompts with their replies; the costs are drawn as those of made-up worlds are."""
    made, write = [], LAYOUTS[layout]
    for _ in range(count):
        now = 10 ** r.uniform(1.5, 3.6)
        best = r.randint(-1, lines - 1)
        saved = worlds.draw_savings(r, lines, best if best >= 0 else None)
        letters = r.sample("abcdefghijklmnopqrstuvwxyz", lines)
        text = "".join(f"{letter}: {write(now * (1 - s), now)}\n" for letter, s in zip(letters, saved))
        made.append(Question("", text + f"now: {write(now, now)}\n", (letters[best] if best >= 0 else "keep",), 0))
    return made


def learn(options, vocabulary, layout):
    config = model.config_of("0.3", len(vocabulary))
    weights = model.initial(config, options.seed)
    optimizer = torch.optim.AdamW(weights.values(), lr=1, betas=(0.9, 0.98), weight_decay=0.05)
    options.choice_loss = options.pair_loss = 0
    turns = model.turns(config, 0, config.context)
    seconds = time.process_time()
    for step in range(options.steps):
        for group in optimizer.param_groups:
            group["lr"] = train.rate_at(step, 0, options.steps, 3e-3)
        r = random.Random(f"probe/{options.seed}/{step}")
        batch = batches.batch_of(vocabulary, questions(r, options.batch, options.lines, layout))
        loss, _, _ = train.loss_of(config, weights, batch, turns, options)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimizer.step()
        if (step + 1) % max(1, options.steps // 5) == 0:
            share = score(config, weights, vocabulary, options, layout)
            print(f"| {layout} | {step + 1} | {(step + 1) * options.batch} | {loss.item():.3f} | {share:.3f} | "
                  f"{time.process_time() - seconds:.0f} |", flush=True)


def score(config, weights, vocabulary, options, layout):
    """The share of replies that are right to the letter, on costs never seen."""
    asked = questions(random.Random("probe/test"), 512, options.lines, layout)
    return sum(written for _, written in evaluate.Judge(config, weights, vocabulary).answers(asked)) / len(asked)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layouts", nargs="*", default=list(LAYOUTS), choices=list(LAYOUTS))
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lines", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    vocabulary = train.made_vocabulary(1700)
    print(f"| layout | step | prompts | loss | right (chance {1 / (options.lines + 1):.2f}) | processor seconds |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for layout in options.layouts:
        learn(options, vocabulary, layout)


if __name__ == "__main__":
    main()
