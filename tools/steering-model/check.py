"""Holds the written files against the model: logits of torch and of NumPy, and replies of llama.cpp's server.

    check.py FOLDER [--prompts 4] [--server PYTHON SERVE_SCRIPT]

PYTHON is an interpreter that has xllamacpp, SERVE_SCRIPT is tests/llama/serve.py. Ends with 1 if anything differs.
"""
import argparse
import json
import os
import subprocess
import sys
import urllib.request

import numpy as np
import torch

import batches
import files
import model
import vocabulary as words
import worlds

TOLERANCE = 2e-3  # of logits, which are of the order of 10


def numpy_logits(config, arrays, ids):
    """The forward pass written down once more, for one row: logits at every token."""
    heads, kv_heads = config["heads"], config["kv_heads"]
    head = config["width"] // heads
    places = np.arange(len(ids))[:, None] * config["rope_base"] ** (-np.arange(0, head, 2) / head)
    cos, sin = np.cos(places)[:, None], np.sin(places)[:, None]

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + config["norm_eps"]) * arrays[name]

    def rotated(x):
        turned = np.empty_like(x)
        turned[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        turned[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
        return turned

    x = arrays["token_embd.weight"][ids].astype(np.float64)
    future = np.triu(np.ones((len(ids), len(ids)), dtype=bool), 1)
    for i in range(config["layers"]):
        block = f"blk.{i}."
        n = norm(x, block + "attn_norm.weight")
        q, k, v = (n @ arrays[f"{block}attn_{part}.weight"].T for part in "qkv")
        q = rotated(q.reshape(len(ids), heads, head))
        k = rotated(k.reshape(len(ids), kv_heads, head))
        v = v.reshape(len(ids), kv_heads, head)
        y = np.empty_like(q)
        for h in range(heads):
            own = h // (heads // kv_heads)
            scores = q[:, h] @ k[:, own].T / np.sqrt(head)
            scores[future] = -np.inf
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            y[:, h] = shares / shares.sum(-1, keepdims=True) @ v[:, own]
        x = x + y.reshape(len(ids), -1) @ arrays[block + "attn_output.weight"].T
        n = norm(x, block + "ffn_norm.weight")
        gate = n @ arrays[block + "ffn_gate.weight"].T
        up = gate / (1 + np.exp(-gate)) * (n @ arrays[block + "ffn_up.weight"].T)
        x = x + up @ arrays[block + "ffn_down.weight"].T
    return norm(x, "output_norm.weight") @ arrays["token_embd.weight"].T


def check_logits(config, weights, arrays, prompts):
    """The largest difference between torch and NumPy, also with the system's part computed once."""
    c = model.Config(**config)
    worst = 0.0
    for head, row in prompts:
        wanted = numpy_logits(config, arrays, np.array(head + row))
        with torch.no_grad():
            whole = model.logits(weights, model.forward(c, weights, torch.tensor([head + row]))[0])[0]
            _, past = model.forward(c, weights, torch.tensor([head]))
            behind = model.logits(weights, model.forward(c, weights, torch.tensor([row]), past)[0])[0]
        worst = max(worst, np.abs(whole.numpy() - wanted).max(), np.abs(behind.numpy() - wanted[len(head) :]).max())
    print(f"logits: largest difference {worst:.2e}")
    return worst < TOLERANCE


class Server:
    """llama.cpp's server with a model, until it is left."""

    def __init__(self, python, script, path):
        self.process = subprocess.Popen([python, script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit(f"llama.cpp's server did not start: {python} {script} {path}")

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, route, question):
        request = urllib.request.Request(self.url + route, json.dumps(question).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)


def check_server(server, c, weights, vocabulary, drawn):
    """Tokens, prompts and replies are the same there. Those that are not are shown."""
    same = 0
    for w in drawn:
        head, row = vocabulary.prompt(w.system(), w.user())
        tokens = server.ask("/tokenize", {"content": w.user(), "add_special": False, "parse_special": False})["tokens"]
        answer = server.ask("/v1/chat/completions", {
            "messages": [{"role": "system", "content": w.system()}, {"role": "user", "content": w.user()}],
            "temperature": 0, "max_tokens": 96})
        reply = answer["choices"][0]["message"]["content"]
        with torch.no_grad():
            wanted = batches.reply_of(c, weights, vocabulary, w.system(), w.user())
        found = {"tokens": tokens == row[1:-2], "length": answer["usage"]["prompt_tokens"] == len(head + row),
                 "reply": reply == wanted}
        same += all(found.values())
        if not all(found.values()):
            print(f"server: {found}  {wanted}" + ("" if found["reply"] else f"  but there {reply}"))
    print(f"server: {same} of {len(drawn)} the same")
    return same == len(drawn)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--server", nargs=2, metavar=("PYTHON", "SERVE_SCRIPT"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    config, tokens, arrays = files.read_model(os.path.join(options.folder, "model.safetensors"))
    vocabulary = words.Vocabulary(tokens)
    weights = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    drawn = [worlds.draw_group(77, index, 1, worlds.RealNames() if index % 4 == 3 else worlds.Names(test=True))[0]
             for index in range(options.prompts)]
    good = check_logits(config, weights, arrays, [vocabulary.prompt(w.system(), w.user()) for w in drawn])
    if options.server:
        with Server(*options.server, os.path.join(options.folder, "model.gguf")) as server:
            good = check_server(server, model.Config(**config), weights, vocabulary, drawn) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
