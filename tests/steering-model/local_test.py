"""Inference in the program against torch, on the same file: tokens, logits and replies.

    local_test.py LOCAL_REPLIES FILE [PROMPTS]
"""
import json
import pathlib
import subprocess
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "steering-model"))
import files  # noqa: E402
import model  # noqa: E402
import vocabulary as words  # noqa: E402
import worlds  # noqa: E402

TOLERANCE = 1e-4  # of logits, by their largest where that is above 1
LONGEST = 40


@torch.no_grad()
def replies(config, weights, head, row):
    """The logits behind a prompt, and the likeliest tokens that follow, one after the other."""
    states, past = model.forward(config, weights, torch.tensor([head + row]))
    first = logits = model.logits(weights, states[0, -1])
    reply = []
    while len(reply) < LONGEST:
        reply.append(int(logits.argmax()))
        if reply[-1] == words.END:
            break
        states, present = model.forward(config, weights, torch.tensor([reply[-1:]]), past)
        past = [tuple(torch.cat(pair, dim=2) for pair in zip(old, new)) for old, new in zip(past, present)]
        logits = model.logits(weights, states[0, -1])
    return first, reply


def main(program, path, count):
    torch.set_num_threads(1)
    shape, tokens, arrays = files.read_model(path)
    config, vocabulary = model.Config(**shape), words.Vocabulary(tokens)
    weights = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    drawn = [w for index in range((count + 3) // 4)
             for w in worlds.draw_group(78, index, 4, worlds.RealNames() if index % 2 else worlds.Names(test=True))]
    lines = "".join(json.dumps({"system": w.system(), "user": w.user()}) + "\n" for w in drawn)
    result = subprocess.run([program, path], input=lines, check=True, capture_output=True, text=True)
    worst, same = 0.0, 0
    for world, line in zip(drawn, result.stdout.splitlines(), strict=True):
        found = json.loads(line)
        head, row = vocabulary.prompt(world.system(), world.user())
        if found["tokens"] != head + row:
            raise SystemExit(f"other tokens: {world.user()}")
        logits, reply = replies(config, weights, head, row)
        apart = (torch.tensor(found["logits"]) - logits).abs().max() / max(1, logits.abs().max())
        worst = max(worst, float(apart))
        same += found["reply"] == reply
    print(f"{len(drawn)} prompts: logits at most {worst:.1e} apart, {same} replies the same")
    return 0 if worst < TOLERANCE and same == len(drawn) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 200))
