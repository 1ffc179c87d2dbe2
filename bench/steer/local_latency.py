#!/usr/bin/env python3
"""What a decision of the built-in model takes, beside llama.cpp's server with the same weights.

    local_latency.py BENCH --model models/steering.safetensors --python PYTHON [--server SERVER_PYTHON SERVE_SCRIPT]

BENCH is bench_steer_local_model, which writes down questions of 600 tokens behind a first message with what each took
in this process, by the clock. The same questions then go to llama.cpp's server (tests/llama/serve.py) on one thread, which has the model as GGUF and
keeps the first message in its cache: greedy, held to the same schema. PYTHON is the interpreter of .cache/steering-model, which
exports the GGUF; SERVER_PYTHON that of .cache/llama. The first question is left out on both sides. Without --server only the
program's own figures are printed. Both run one after the other: give them a quiet core.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ask(url, prompt, schema):
    question = {"messages": [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": prompt["user"]}],
                "temperature": 0, "max_tokens": 256, "cache_prompt": True}
    if schema:
        question["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": prompt["schema"]}}
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(question).encode(), {"Content-Type": "application/json"})
    begin = time.monotonic()
    with urllib.request.urlopen(request, timeout=300) as answer:
        found = json.load(answer)
    return time.monotonic() - begin, found["choices"][0]["message"]["content"]


def line(name, seconds):
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"| {name} | {len(ordered)} | {1e3 * statistics.median(ordered):.2f} ms | {1e3 * p99:.2f} ms |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--model", default=str(ROOT / "models" / "steering.safetensors"))
    parser.add_argument("--python", default=str(ROOT / ".cache" / "steering-model" / "venv" / "bin" / "python"))
    parser.add_argument("--server", nargs=2, metavar=("SERVER_PYTHON", "SERVE_SCRIPT"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "prompts.jsonl"
        done = subprocess.run([options.bench, "--prompts", str(path)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"error: {options.bench}\n{done.stderr}")
        prompts = [json.loads(text) for text in path.read_text().splitlines()]
        own = [prompt["seconds"] for prompt in prompts[1:]]
        print(f"{min(p['tokens'] for p in prompts)} to {max(p['tokens'] for p in prompts)} tokens behind the first message\n")
        print("| where | questions | median | p99 |\n| --- | ---: | ---: | ---: |")
        print(line("in this process", own), flush=True)
        if not options.server:
            return
        subprocess.run([options.python, str(ROOT / "tools" / "steering-model" / "export_gguf.py"), options.model, name], check=True)
        server = subprocess.Popen([*options.server, str(folder / "model.gguf")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        try:
            url = server.stdout.readline().strip()
            for title, schema in (("llama.cpp's server, held to the schema", True), ("llama.cpp's server, free", False)):
                answers = [ask(url, prompt, schema) for prompt in prompts]
                seconds = [one for one, _ in answers[1:]]
                print(line(title, seconds), flush=True)
                same = sum(reply.replace(" ", "") == prompt["reply"].replace(" ", "") for (_, reply), prompt in zip(answers, prompts))
                print(f"\n{same} of {len(prompts)} replies the same; ours over theirs: "
                      f"{statistics.median(own) / statistics.median(seconds):.2f}\n", flush=True)
        finally:
            server.stdin.close()
            server.wait()


if __name__ == "__main__":
    main()
