"""Trains a steering model and writes it: model.safetensors, model.gguf, Modelfile, card.md, training.json.

    train.py OUT [--size 0.3] [--minutes 40 | --steps N] [--decisions FILE ...] [--held-out GRAPH ...] [--device cuda]

First it learns to read: --short prompts that are nothing but known effects and the question, without a system message,
a tenth as long as whole ones. Then whole prompts, of made-up worlds and, every second batch, of collected decisions.
With --steps the same options give the same files on a machine of the same kind: what is drawn depends on the seed alone, and the
number of threads is fixed; --minutes takes as many steps as there is time for, which training.json says. It may be ended at
any time: called again with the same options it goes on from OUT/checkpoint.pt, to the same files.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import math
import multiprocessing
import os
import random
import time

import torch
import torch.nn.functional as F

import batches
import card
import decisions as collected
import evaluate
import files
import model
import prompts
import vocabulary as words
import worlds

RATE = {"0.3": 3e-3, "1": 2e-3, "2": 1.5e-3, "5": 1e-3}
WARM = 100     # steps in which the learning rate rises
FALLING = 0.7  # of the whole steps (or of their time) are over when it begins to fall


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--size", default="0.3", choices=list(model.SIZES), help="millions of parameters")
    parser.add_argument("--minutes", type=float, default=40, help="how long steps may take, together")
    parser.add_argument("--steps", type=int, help="of whole prompts, instead of --minutes")
    parser.add_argument("--batch", type=int, default=16, help="whole prompts of a step; 16 of them share a run")
    parser.add_argument("--short", type=int, default=1600, help="steps before these, of short prompts")
    parser.add_argument("--short-batch", type=int, default=64)
    parser.add_argument("--rate", type=float, help="highest learning rate")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="what computes: cpu or cuda")
    parser.add_argument("--workers", type=int, default=0, help="processes that draw prompts; 0: the one that trains")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pieces", type=int, default=1700, help="size of the vocabulary")
    parser.add_argument("--most-lines", type=int, default=5, help="of history in made-up worlds")
    parser.add_argument("--choice-loss", type=float, default=0.5, help="weight of choosing among the replies that are possible")
    parser.add_argument("--pair-loss", type=float, default=0.5, help="weight of telling each reply from keep, where costs are known")
    parser.add_argument("--decisions", nargs="*", default=[], help="files of rudder agent collect --for llm")
    parser.add_argument("--held-out", nargs="*", default=[], help="graphs to test on alone")
    parser.add_argument("--hold-out-one-of", type=int, default=0, metavar="N", help="graphs of N, by the checksum of their names")
    parser.add_argument("--test-groups", type=int, default=40, help="of 8 worlds, for the scores")
    parser.add_argument("--test-decisions", type=int, default=400, help="for the scores, at most")
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


class Source:
    """Batches by number: short prompts first, then made-up worlds, and every second one of collected decisions where
    there are any."""

    MIXED = 4     # batches of short prompts that are drawn together and sorted by length
    GROUP = 16    # made-up worlds of one run
    GROWING = 300  # steps until all lines of history are drawn

    def __init__(self, options, vocabulary, decisions):
        self.options, self.vocabulary = options, vocabulary
        self.names = (worlds.Names(), worlds.Names(), worlds.Names(), worlds.RealNames())
        self.decisions = decisions
        self.drawn = (None, [])

    def lines(self, step):
        """Of history, at most: few at first."""
        return 2 + round((self.options.most_lines - 2) * min(1, step / self.GROWING))

    def short_questions(self, step):
        group, place = divmod(step, self.MIXED)
        size = self.options.short_batch
        if self.drawn[0] != group:
            made, lines = [], self.lines(step)
            for part in range(size * self.MIXED // self.GROUP):
                made += worlds.draw_group(f"{self.options.seed}/short", group * 1000 + part, self.GROUP,
                                          self.names[part % 4], most_lines=lines)
            found = [dataclasses.replace(evaluate.asked(w), system="", user=w.short()) for w in made]
            found.sort(key=lambda q: (len(q.user), q.user, q.replies[q.best]))
            self.drawn = (group, found)
        return self.drawn[1][place * size : (place + 1) * size]

    def collected_questions(self, number):
        """Half of them with the program's names, a quarter with these changed about, a quarter with made-up ones. Each decision comes
        once before any comes again."""
        questions = []
        for at in range(number * self.options.batch, (number + 1) * self.options.batch):
            turn, place = divmod(at, len(self.decisions))
            r = random.Random(f"{self.options.seed}/collected/{at}")
            form = r.random()
            to = None if form < 0.5 else collected.permuted_names(r) if form < 0.75 else collected.made_up_names(r, self.names[0])
            questions.append(collected.question(self.decisions[self.order(turn)[place]], to))
        return questions

    def order(self, turn):
        if getattr(self, "ordered", (None,))[0] != turn:
            places = list(range(len(self.decisions)))
            random.Random(f"{self.options.seed}/order/{turn}").shuffle(places)
            self.ordered = (turn, places)
        return self.ordered[1]

    def questions(self, step):
        if step < self.options.short:
            return self.short_questions(step)
        step -= self.options.short
        if self.decisions and step % 2:
            return self.collected_questions(step // 2)
        lines = self.lines(step)
        size = min(self.GROUP, self.options.batch)
        made = []
        for part in range(self.options.batch // size):
            number = step * (self.options.batch // size) + part
            made += worlds.draw_group(self.options.seed, number, size, self.names[(step // 2 + part) % 4], most_lines=lines)
        return [evaluate.asked(w) for w in made]

    def batch(self, step):
        return batches.batch_of(self.vocabulary, self.questions(step))


_source = None


def _of_worker(step):
    """In a process that draws: the arrays of one step."""
    batch = _source.batch(step)
    return [getattr(batch, field.name).numpy() for field in dataclasses.fields(batch)]


class Drawer:
    """The batches of a source in their order, drawn ahead by other processes where there are workers."""

    def __init__(self, source, workers):
        global _source
        self.source, self.waiting, self.pool = source, collections.deque(), None
        if workers > 0:
            _source = source
            self.pool = concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("fork"))
            self.pool.submit(int).result()  # they begin now, before anything else does
        self.ahead = 4 * workers

    def batches(self, first):
        """From a step on, without end."""
        step = first
        while True:
            if self.pool is None:
                yield self.source.batch(step)
            else:
                while len(self.waiting) < self.ahead:
                    self.waiting.append(self.pool.submit(_of_worker, step + len(self.waiting)))
                yield batches.Batch(*map(torch.from_numpy, self.waiting.popleft().result()))
            step += 1

    def close(self):
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)


def pair_loss_of(batch, replies):
    """Every reply against keep, by which of the two costs less; what differs by 5 % or more counts in full."""
    rows = torch.arange(len(batch.keep), device=replies.device)
    against = replies - replies[rows, batch.keep][:, None]
    known = ~torch.isnan(batch.gaps) & (batch.gaps != 0)
    gaps, against = batch.gaps[known], against[known]
    return (F.softplus(torch.sign(gaps) * against) * (gaps.abs() / 0.05).clamp(max=1)).sum() / max(1, len(gaps))


def loss_of(config, weights, batch, turns, options):
    """What is to fall, the mean loss of the right replies' tokens, and the share of them that are right.

    What is to fall is the loss of the right replies, token by token, and with --choice-loss and --pair-loss those of choosing."""
    found = batches.scored(config, weights, batch, turns)
    best = batches.of_best(batch)
    replies = -found.each[best].mean()
    loss = replies
    if options.choice_loss > 0:
        loss = loss + options.choice_loss * F.cross_entropy(found.replies, batch.best)
    if options.pair_loss > 0 and not torch.isnan(batch.gaps).all():
        loss = loss + options.pair_loss * pair_loss_of(batch, found.replies)
    return loss, replies.detach(), found.likeliest[best].float().mean()


def rate_at(step, short, steps, highest):
    """Up over 100 steps, level, and down to a fiftieth over the last of the whole ones; steps: None while it is not known how many there
    will be."""
    if step < WARM:
        return highest * (step + 1) / WARM
    falling = None if steps is None else short + math.ceil(FALLING * (steps - short))
    if falling is None or step < falling:
        return highest
    return highest * (0.02 + 0.98 * (steps - step) / max(1, steps - falling))


def checkpoint_of(options):
    """What an earlier call with these options left; None: nothing."""
    path = os.path.join(options.out, "checkpoint.pt")
    if not os.path.exists(path):
        return None
    kept = torch.load(path, weights_only=False)
    return kept if kept["options"] == vars(options) | {"finish": False} else None


def keep_checkpoint(options, step, steps, tokens, weights, optimizer, course):
    path = os.path.join(options.out, "checkpoint.pt")
    torch.save({"options": vars(options) | {"finish": False}, "step": step, "steps": steps, "tokens": tokens, "weights": weights,
                "optimizer": optimizer.state_dict(), "course": course}, path + ".new")
    os.replace(path + ".new", path)


def optimizer_of(weights):
    matrices = [w for w in weights.values() if w.dim() > 1]
    vectors = [w for w in weights.values() if w.dim() == 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0}],
                             lr=1, betas=(0.9, 0.98))


class Course:
    """What is told of the training, every so many steps."""

    def __init__(self, told):
        self.told = told
        self.begin()

    def begin(self):
        self.seconds, self.sums, self.steps = time.monotonic(), [0.0, 0.0], 0

    def add(self, replies, right):
        self.sums = [self.sums[0] + replies, self.sums[1] + right]
        self.steps += 1

    def tell(self, step):
        replies, right = (float(part) / self.steps for part in self.sums)
        self.told.append({"step": step, "loss": round(replies, 4), "right": round(right, 4),
                          "seconds": round(time.monotonic() - self.seconds, 1)})
        print(json.dumps(self.told[-1]), flush=True)
        self.begin()


class Clock:
    """How many steps --minutes are."""

    def __init__(self, options):
        self.options, self.began, self.whole = options, time.monotonic(), None

    def steps(self, step):
        """Known when it is time for the learning rate to fall; till then None."""
        if step < self.options.short:
            return None
        now = time.monotonic() - self.began
        if self.whole is None:
            self.whole = (step, now)
        first, begin = self.whole
        if step == first or now < begin + FALLING * (60 * self.options.minutes - begin):
            return None
        return first + max(step + 1 - first, round((step - first) / FALLING))


def train(options, config, drawer, stop=None):
    """The weights after so many steps, or those of the checkpoint at which it is to stop, and the course of the loss."""
    kept = checkpoint_of(options)
    if kept:
        weights, told, first = kept["weights"], kept["course"], kept["step"]
    else:
        weights, told, first = model.initial(config, options.seed), [], 0
    if stop == 0:
        return weights, told
    weights = {name: w.detach().to(options.device).requires_grad_() for name, w in weights.items()}
    turns = tuple(part.to(options.device) for part in model.turns(config, 0, config.context))
    optimizer, course = optimizer_of(weights), Course(told)
    if kept:
        optimizer.load_state_dict(kept["optimizer"])
    steps = options.short + options.steps if options.steps else kept["steps"] if kept else None
    clock = Clock(options)
    for step, batch in enumerate(drawer.batches(first), first):
        steps = steps or clock.steps(step)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, options.short, steps, options.rate or RATE[options.size])
        loss, replies, right = loss_of(config, weights, batch.to(options.device), turns, options)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimizer.step()
        course.add(replies, right)
        last = step + 1 == steps
        if (step + 1) % options.checkpoint == 0 or last:
            course.tell(step + 1)
            keep_checkpoint(options, step + 1, steps, drawer.source.vocabulary.tokens, weights, optimizer, told)
        if last or step + 1 == stop:
            break
    return weights, told


def scores_of(options, judge, learned, held):
    unseen = worlds.Names(test=True)
    r = random.Random(0)
    learned, held = (r.sample(some, min(len(some), options.test_decisions)) for some in (learned, held))
    return {
        "unseen names": evaluate.on_worlds(judge, unseen, options.test_groups),
        "unseen names, without history": evaluate.on_worlds(judge, unseen, options.test_groups, history=False),
        "known graphs": evaluate.on_decisions(judge, learned),
        "held-out graphs": evaluate.on_decisions(judge, held),
        "held-out graphs, names changed about": evaluate.on_decisions(judge, held, permuted=True),
    }


def prepare_torch(options):
    torch.set_num_threads(options.threads)
    on_cpu = options.device == "cpu"
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # A kernel without a fixed order is told, not refused.
    torch.use_deterministic_algorithms(True, warn_only=not on_cpu)
    if not on_cpu:
        torch.set_float32_matmul_precision("high")


def write(options, config, vocabulary, weights, told, learned, held):
    """The files; scores are those of the written model, whose weights are rounded."""
    path = os.path.join(options.out, "model.safetensors")
    files.write_model(path, card.config_words(config), vocabulary.tokens,
                      {name: w.detach().cpu().numpy() for name, w in weights.items()})
    _, _, arrays = files.read_model(path)
    weights = {name: torch.from_numpy(array.copy()).to(options.device) for name, array in arrays.items()}
    scores = scores_of(options, evaluate.Judge(config, weights, vocabulary, options.device), learned, held)
    record = {"options": vars(options), "steps": told[-1]["step"] if told else 0, "parameters": model.parameters(config), "course": told,
              "decisions": len(learned), "scores": scores}
    with open(os.path.join(options.out, "training.json"), "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
    with open(os.path.join(options.out, "card.md"), "w", encoding="utf-8") as out:
        out.write(card.text(record))
    print(evaluate.table(scores["unseen names"]))
    print(evaluate.table(scores["unseen names, without history"]))
    return path


def main():
    options = options_of()
    prepare_torch(options)
    os.makedirs(options.out, exist_ok=True)
    learned, held = collected.split(collected.read_decisions(options.decisions), options.held_out, options.hold_out_one_of)
    kept = checkpoint_of(options)
    vocabulary = words.Vocabulary(kept["tokens"]) if kept else made_vocabulary(options.pieces)
    config = model.config_of(options.size, len(vocabulary))
    print(f"{model.parameters(config)} parameters, {len(vocabulary)} pieces, {options.short} steps of {options.short_batch} "
          f"short prompts, {options.steps or f'{options.minutes} minutes'} of {options.batch} whole ones, {len(learned)} decisions, "
          f"{len(held)} held out", flush=True)
    drawer = Drawer(Source(options, vocabulary, learned), options.workers)
    weights, told = train(options, config, drawer, stop=0 if options.finish else None)
    drawer.close()
    path = write(options, config, vocabulary, weights, told, learned, held)
    import export_gguf  # its package is needed nowhere else

    export_gguf.export(path, options.out)


if __name__ == "__main__":
    main()
