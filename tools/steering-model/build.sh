#!/usr/bin/env bash
# Makes the steering model from nothing: environment, decisions, training, files, checks.
#
#   build.sh environment                         the environment alone (.cache/steering-model)
#   build.sh model RUDDER DATA OUT [OPTION...]   the model; OPTIONs are train.py's
#
# Decisions are collected on the graphs of DATA where there are any and the program can (agent collect --for llm);
# otherwise made-up worlds are all it learns from. HELD_OUT="npm_deps" names graphs to be tested on alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../../.cache/steering-model
# shellcheck source=../../tests/support/venv.sh
. "$here/../../tests/support/venv.sh"
usage() { sed -n 's/^#   //p' "$0" >&2; exit 2; }

environment() {
    installed "$here" "$cache" && return
    echo "installing tools/steering-model/requirements.txt into .cache/steering-model (torch: about 800 MB)"
    need_packages "$here" "$cache" "the environment of the steering model" | sed 's/^SKIPPED: //'
    installed "$here" "$cache" || { echo "no environment; see $cache/log" >&2; exit 1; }
}

# collect RUDDER GRAPH.npz WORK: decisions of one graph on four parts, every second question.
collect() {
    local name
    name=$(basename "$2" .npz)
    [ -s "$3/$name.jsonl" ] && return
    echo "collecting decisions on $name"
    rm -rf "$3/$name" "$3/$name-4"
    "$1" import "$2" "$3/$name" --quiet
    "$1" partition "$3/$name" "$3/$name-4" --parts 4 --quiet
    "$1" agent collect "$name=$3/$name-4" --for llm --ranks 4 --batch 100 --epochs 4 --stride 2 --out "$3/$name" --quiet
}

model() {
    local rudder=$1 data=$2 out=$3 samples=()
    shift 3
    environment
    mkdir -p "$out/decisions"
    if ! "$rudder" agent collect --help | grep -q -- '--for '; then
        echo "this program collects no decisions for language models: made-up worlds alone"
    elif ! compgen -G "$data/*.npz" >/dev/null; then
        echo "no graphs in $data (DATA=FOLDER): made-up worlds alone"
    else
        local graph
        for graph in "$data"/*.npz; do
            # Graphs without classes cannot be trained on, and so give no decisions.
            collect "$rudder" "$graph" "$out/decisions" || echo "no decisions of $graph"
        done
        compgen -G "$out/decisions/*.jsonl" >/dev/null && samples=(--decisions "$out"/decisions/*.jsonl)
    fi
    local held=()
    [ -n "${HELD_OUT:-}" ] && read -ra held <<<"--held-out $HELD_OUT"
    "$cache/venv/bin/python" "$here/train.py" "$out" "${samples[@]}" "${held[@]}" "$@"
    local server=()
    installed "$here/../../tests/llama" "$here/../../.cache/llama" &&
        server=(--server "$here/../../.cache/llama/venv/bin/python" "$here/../../tests/llama/serve.py")
    "$cache/venv/bin/python" "$here/check.py" "$out" "${server[@]}"
    echo "$out: model.safetensors, model.gguf, Modelfile, card.md"
}

case ${1:-} in
    environment) environment ;;
    model) [ $# -ge 4 ] || usage; shift; model "$@" ;;
    *) usage ;;
esac
