#!/usr/bin/env bash
# Makes the steering model from nothing: environment, decisions, training, files, checks.
#
#   build.sh environment                    the environment alone (.cache/steering-model)
#   build.sh options                        the OPTIONs that the model in the tree was made with
#   build.sh model RUDDER OUT [OPTION...]   the model; OPTIONs are train.py's
#   build.sh sizes RUDDER OUT [OPTION...]   one of each size beside each other, and which is the smallest within 1 % of the best
#
# Without OPTIONs training is that of the model in the tree. Decisions are collected on made graphs (collect.py, seed 1) for
# COLLECT_MINUTES (10; 0: none; one of eight graphs is for the test alone), JOBS worlds at a time (the number of cores), never on real
# ones. What computes is a GPU where PyTorch finds one (DEVICE=cpu: not that). PYTHON=python3 takes an interpreter that has what
# requirements.txt lists instead of making an environment.
set -euo pipefail
in_tree=(--size 0.3 --short 1600 --steps 200 --threads 1 --checkpoint 20 --test-groups 20)
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../../.cache/steering-model
python=${PYTHON:-$cache/venv/bin/python}
# shellcheck source=../../tests/support/venv.sh
. "$here/../../tests/support/venv.sh"
usage() { sed -n 's/^#   //p' "$0" >&2; exit 2; }

environment() {
    [ -n "${PYTHON:-}" ] && return
    installed "$here" "$cache" && return
    echo "installing tools/steering-model/requirements.txt into .cache/steering-model (torch: about 800 MB)"
    need_packages "$here" "$cache" "the environment of the steering model" | sed 's/^SKIPPED: //'
    installed "$here" "$cache" || { echo "no environment; see $cache/log" >&2; exit 1; }
}

# collected RUDDER OUT: decisions in OUT/decisions, and the options that name them in the array `samples`.
collected() {
    local minutes=${COLLECT_MINUTES:-10} files
    samples=()
    mkdir -p "$2/decisions"
    if [ "$minutes" != 0 ]; then
        "$here/collect.py" --rudder "$1" --out "$2/decisions" --minutes "$minutes" --seed 1 --threads 1 --jobs "${JOBS:-$(nproc)}"
    fi
    mapfile -t files < <(find "$2/decisions" -name '*.jsonl' -size +0 | sort)
    [ "${#files[@]}" = 0 ] || samples=(--hold-out-one-of 8 --decisions "${files[@]}")
}

device() {
    [ -n "${DEVICE:-}" ] && echo "$DEVICE" && return
    "$python" -c 'import torch; print("cuda" if torch.cuda.is_available() else "cpu")'
}

model() {
    local rudder=$1 out=$2 again=no
    shift 2
    [ $# = 0 ] && again=yes && set -- "${in_tree[@]}"
    environment
    collected "$rudder" "$out"
    "$python" "$here/train.py" "$out" --device "$(device)" "$@" "${samples[@]}"
    local server=()
    installed "$here/../../tests/llama" "$here/../../.cache/llama" &&
        server=(--server "$here/../../.cache/llama/venv/bin/python" "$here/../../tests/llama/serve.py")
    "$python" "$here/check.py" "$out" "${server[@]}"
    echo "$out: model.safetensors, model.gguf, Modelfile, card.md"
    [ $again = no ] && return
    if cmp -s "$out/model.safetensors" "$here/../../models/steering.safetensors"; then
        echo "the same bytes as models/steering.safetensors"
    else
        echo "not the bytes of models/steering.safetensors: other decisions, another kind of machine, or other tools than it was made with"
    fi
}

sizes() {
    local rudder=$1 out=$2
    shift 2
    environment
    collected "$rudder" "$out"
    "$python" "$here/sizes.py" "$out" -- --device "$(device)" "$@" "${samples[@]}"
}

case ${1:-} in
    environment) environment ;;
    options) echo "${in_tree[@]}" ;;
    model | sizes) [ $# -ge 3 ] || usage; what=$1; shift; $what "$@" ;;
    *) usage ;;
esac
