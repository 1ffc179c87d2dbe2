#!/usr/bin/env python3
"""Links on real graphs beside PyTorch Geometric: the same division, the same negatives.

    bench/accuracy/links_bench.py --rudder build/release/src/cli/rudder --data ../shared/data \\
        --pyg build/links-env/bin/python

For each graph and seed the links are divided 80/10/10, and each vertex that has a link for validation or
test is given pairs with --others vertices that it is not joined with. Rudder gets the division as
edge_split and the pairs by --negatives-from; pyg_links.py trains the same network on the same arrays in
PyTorch Geometric and ranks the same links among the same pairs. Prints the MRR of test at the best epoch
by validation, by seed, and the means. Features of more than --columns columns are projected to so many
(by random signs, the same for both). Results are kept in --work, one file per run.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np

GRAPHS = {
    "cora": {"hidden": 64, "lr": 0.005, "batch": 512, "epochs": 30},
    "coauthor_phy": {"hidden": 64, "lr": 0.005, "batch": 10000, "epochs": 10},
}


def features(archive, columns):
    """Rows divided by their sums; wide ones projected."""
    rows, width = int(archive["num_nodes"]), int(archive["num_feats"])
    offsets = archive["feat_indptr"].astype(np.int64)
    values = archive["feat_values"] if "feat_values" in archive.files else np.ones(int(offsets[-1]))
    row_of = np.repeat(np.arange(rows), np.diff(offsets))
    sums = np.bincount(row_of, weights=values, minlength=rows)
    scaled = (values / np.maximum(sums, 1)[row_of]).astype(np.float32)
    if width <= columns:
        dense = np.zeros((rows, width), np.float32)
        np.add.at(dense, (row_of, archive["feat_indices"]), scaled)
        return dense
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (width, columns)).astype(np.float32)
    dense = np.zeros((rows, columns), np.float32)
    for first in range(0, rows, 4096):
        last = min(rows, first + 4096)
        span = slice(offsets[first], offsets[last])
        np.add.at(dense, row_of[span], scaled[span, None] * signs[archive["feat_indices"][span]])
    return dense


def divide(pairs, vertices, others, seed):
    """A role for each link, and pairs that are not joined for the ends of those that are held back."""
    random = np.random.default_rng(seed)
    roles = random.choice(np.array([1, 2, 3], np.uint8), len(pairs), p=[0.8, 0.1, 0.1])
    known = set((pairs[:, 0] * vertices + pairs[:, 1]).tolist())
    given = []
    for v in np.unique(pairs[roles != 1]):
        drawn = random.permutation(vertices)[: 2 * others]
        free = [u for u in drawn.tolist()
                if u != v and min(u, v) * vertices + max(u, v) not in known][:others]
        given += [(int(v), u) for u in free]
    return roles, np.array(given)


def prepare(name, options, seed, work):
    archive = np.load(pathlib.Path(options.data) / f"{name}.npz")
    vertices = int(archive["num_nodes"])
    ends = np.stack([archive["src"], archive["dst"]], 1).astype(np.int64)
    pairs = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], 1), axis=0)
    roles, given = divide(pairs, vertices, options.others, seed)
    work.mkdir(parents=True, exist_ok=True)
    np.savez(work / "graph.npz", num_nodes=vertices, src=pairs[:, 0], dst=pairs[:, 1],
             x=features(archive, options.columns), edge_split=roles)
    np.savetxt(work / "given.csv", given, "%d", ",", header="source,target", comments="")


def call(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)}\n{done.stderr}")
    return done.stdout


def ours(options, settings, seed, work):
    call([options.rudder, "import", work / "graph.npz", work / "data", "--quiet", "--force"])
    call([options.rudder, "partition", work / "data", work / "parts", "--parts", 1, "--quiet", "--force"])
    call([options.rudder, "train", work / "parts", "--task", "link", "--fanout", "-1,-1", "--dropout", 0,
          "--hidden", settings["hidden"], "--lr", settings["lr"], "--batch", settings["batch"],
          "--epochs", settings["epochs"], "--eval-every", 1, "--negatives-from", work / "given.csv",
          "--seed", seed, "--out", work / "run", "--force", "--quiet"])
    return json.loads((work / "run" / "summary.json").read_text())["mrr"]["test"]


def theirs(options, settings, seed, work):
    script = pathlib.Path(__file__).parent / "pyg_links.py"
    return json.loads(call([options.pyg, script, work, json.dumps(settings | {"seed": seed})]))["mrr"]


def kept(file, make):
    if not file.exists():
        file.write_text(json.dumps(make()))
    return json.loads(file.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rudder", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--pyg", required=True, help="Python of an environment with torch-geometric")
    parser.add_argument("--work", default="build/links-bench")
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--others", type=int, default=100)
    parser.add_argument("--columns", type=int, default=1500)
    options = parser.parse_args()
    print("| graph | seed | Rudder | PyG |\n| --- | --- | ---: | ---: |")
    for name in options.graphs:
        found = []
        for seed in range(options.seeds):
            work = pathlib.Path(options.work) / f"{name}-{seed}"
            if not (work / "given.csv").exists():
                prepare(name, options, seed, work)
            found.append((kept(work / "ours.json", lambda: ours(options, GRAPHS[name], seed, work)),
                          kept(work / "theirs.json", lambda: theirs(options, GRAPHS[name], seed, work))))
            print(f"| {name} | {seed} | {found[-1][0]:.4f} | {found[-1][1]:.4f} |", flush=True)
        mean = np.mean(found, 0)
        error = np.std(found, 0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else [0, 0]
        print(f"| {name} | mean | {mean[0]:.4f} ± {error[0]:.4f} | {mean[1]:.4f} ± {error[1]:.4f} |", flush=True)


if __name__ == "__main__":
    main()
