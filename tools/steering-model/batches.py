"""Questions with all their possible replies as tensors.

A row holds a prompt once, and behind it the replies, side by side: each sees the prompt and itself, and stands at the same place, as if
it were alone. So one pass over a row gives the likelihood of every reply.
"""
import dataclasses

import numpy as np
import torch

import model
from vocabulary import ASSISTANT, END

PADDING = -1  # belongs to no part


@dataclasses.dataclass(frozen=True)
class Batch:
    """Of the arrays of one length each: `tokens`, `places` and `parts` [rows, tokens] (part 0: the prompt, 1, 2, ...: a reply); `row`,
    `seen` and `at` by token of a reply: where it stands, and the token it is told by; `reply` which one it belongs to, of all;
    `owner` and `number` by reply: its row, and its place there; `best` by row; `gaps` [rows, replies]: cost over that of
    keeping, less 1, and NaN where it is not known."""
    tokens: torch.Tensor
    places: torch.Tensor
    parts: torch.Tensor
    row: torch.Tensor
    seen: torch.Tensor
    at: torch.Tensor
    reply: torch.Tensor
    owner: torch.Tensor
    number: torch.Tensor
    best: torch.Tensor
    keep: torch.Tensor
    gaps: torch.Tensor

    def to(self, device):
        return Batch(*(getattr(self, field.name).to(device, non_blocking=True) for field in dataclasses.fields(self)))


class _Row:
    """One question, as lists."""

    def __init__(self, vocabulary, question):
        head, rest = vocabulary.prompt(question.system, question.user)
        self.tokens = head + rest
        prompt = len(self.tokens)
        self.places, self.parts = list(range(prompt)), [0] * prompt
        self.spans = []
        for part, reply in enumerate(question.replies, 1):
            ids = vocabulary.encode(reply) + [END]
            self.spans.append((prompt, len(self.tokens), len(ids)))
            self.places += range(prompt, prompt + len(ids))
            self.parts += [part] * len(ids)
            self.tokens += ids


def batch_of(vocabulary, questions):
    rows = [_Row(vocabulary, question) for question in questions]
    longest = -(-max(len(row.tokens) for row in rows) // 8) * 8
    tokens = np.full((len(rows), longest), END, dtype=np.int64)
    places, parts = np.zeros_like(tokens), np.full_like(tokens, PADDING)
    most = max(len(question.replies) for question in questions)
    gaps = np.full((len(rows), most), np.nan, dtype=np.float32)
    row_of, seen, at, reply, owner, number = [], [], [], [], [], []
    for i, (row, question) in enumerate(zip(rows, questions)):
        length = len(row.tokens)
        tokens[i, :length], places[i, :length], parts[i, :length] = row.tokens, row.places, row.parts
        if question.costs:
            gaps[i, : len(question.costs)] = question.gaps()
        for place, (prompt, begin, count) in enumerate(row.spans):
            row_of += [i] * count
            seen += [prompt - 1, *range(begin, begin + count - 1)]
            at += range(begin, begin + count)
            reply += [len(owner)] * count
            owner.append(i)
            number.append(place)
    lists = (row_of, seen, at, reply, owner, number, [q.best for q in questions], [q.keep for q in questions])
    return Batch(torch.from_numpy(tokens), torch.from_numpy(places), torch.from_numpy(parts),
                 *(torch.tensor(values) for values in lists), torch.from_numpy(gaps))


def mask_of(batch):
    """Who sees whom: what stands before it, of the prompt and of its own reply."""
    own, other = batch.parts[:, :, None], batch.parts[:, None, :]
    length = batch.parts.shape[1]
    earlier = torch.ones(length, length, dtype=torch.bool, device=batch.parts.device).tril()
    return (((other == 0) | (other == own)) & earlier)[:, None]


@dataclasses.dataclass(frozen=True)
class Scored:
    """By token of a reply: the log-likelihood and whether it was the likeliest; by row and reply: the log-likelihood."""
    each: torch.Tensor
    likeliest: torch.Tensor
    replies: torch.Tensor


def scored(config, weights, batch, turns):
    """What the model says of all replies of a batch; turns: model.turns of every place."""
    place = tuple(part[batch.places][:, None] for part in turns)
    states, _ = model.forward(config, weights, batch.tokens, place=place, mask=mask_of(batch))
    logits = model.logits(weights, states[batch.row, batch.seen]).float()
    targets = batch.tokens[batch.row, batch.at]
    each = -torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    sums = torch.zeros(len(batch.owner), device=each.device).index_add(0, batch.reply, each)
    replies = torch.full(batch.gaps.shape, -torch.inf, device=each.device)
    replies = replies.index_put((batch.owner, batch.number), sums)
    return Scored(each, logits.argmax(dim=-1) == targets, replies)


def of_best(batch):
    """By token of a reply: whether it belongs to the right one."""
    return batch.number[batch.reply] == batch.best[batch.row]


def reply_of(config, weights, vocabulary, system, user, longest=96):
    """The reply that the model writes: always the likeliest token."""
    head, row = vocabulary.prompt(system, user)
    ids = head + row
    begin = len(ids)
    while len(ids) < begin + longest:
        states, _ = model.forward(config, weights, torch.tensor([ids]))
        ids.append(int(model.logits(weights, states[0, -1]).argmax()))
        if ids[-1] in (END, ASSISTANT):
            return vocabulary.decode(ids[begin:-1])
    return vocabulary.decode(ids[begin:])
