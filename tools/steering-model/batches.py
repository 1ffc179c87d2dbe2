"""Prompts with their replies as tensors; all of a batch share one system message, which is computed once."""
import dataclasses

import torch

import model
from vocabulary import ASSISTANT, END


@dataclasses.dataclass(frozen=True)
class Batch:
    system: torch.Tensor   # [1, tokens]
    rows: torch.Tensor     # [batch, tokens]: user's part, reply, END, and END again to the end
    begins: list           # where the replies begin
    ends: list             # behind their END


def batch_of(vocabulary, system, pairs):
    """A batch of (user, reply) texts under one system message."""
    head, rows, begins, ends = None, [], [], []
    for user, reply in pairs:
        head, row = vocabulary.prompt(system, user)
        begins.append(len(row))
        rows.append(row + vocabulary.encode(reply) + [END])
        ends.append(len(rows[-1]))
    longest = max(ends)
    padded = [row + [END] * (longest - len(row)) for row in rows]
    return Batch(torch.tensor([head]), torch.tensor(padded), begins, ends)


def states_of(config, weights, batch):
    """The model's last states at every token of the rows."""
    _, past = model.forward(config, weights, batch.system)
    return model.forward(config, weights, batch.rows, past)[0]


def logits_at(weights, batch, states, spans):
    """For every token of a span of each row: the logits for it, the token itself, and its row."""
    rows, places = [], []
    for row, (begin, end) in enumerate(spans):
        rows += [row] * (end - begin)
        places += range(begin - 1, end - 1)
    rows, places = torch.tensor(rows), torch.tensor(places)
    return model.logits(weights, states[rows, places]), batch.rows[rows, places + 1], rows


def reply_logits(config, weights, batch):
    """The same for the tokens of the replies."""
    return logits_at(weights, batch, states_of(config, weights, batch), zip(batch.begins, batch.ends))


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
