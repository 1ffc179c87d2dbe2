#!/usr/bin/env bash
# Makes the steering model from nothing: environment, decisions, training, files, checks.
#
#   build.sh environment                    the environment alone (.cache/steering-model)
#   build.sh model RUDDER OUT [OPTION...]   the model; OPTIONs are train.py's
#
# Decisions are collected on made graphs (collect.py) for COLLECT_MINUTES (10; 0: made-up worlds are all it learns from), never on
# real ones. HELD_OUT names graphs of them that are tested on alone (the last one).
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

model() {
    local rudder=$1 out=$2 samples=() held=()
    shift 2
    environment
    mkdir -p "$out/decisions"
    if [ "${COLLECT_MINUTES:-10}" != 0 ]; then
        "$here/collect.py" --rudder "$rudder" --out "$out/decisions" --minutes "${COLLECT_MINUTES:-10}"
        mapfile -t samples < <(find "$out/decisions" -name '*.jsonl' -size +0 | sort)
    fi
    if [ "${#samples[@]}" -gt 1 ]; then
        local last
        last=$(head -c 100000 "${samples[-1]}" | sed -n '1s/.*"graph":"\([^"]*\)".*/\1/p')
        read -ra held <<<"${HELD_OUT:-$last}"
        held=(--held-out "${held[@]}")
    fi
    [ "${#samples[@]}" = 0 ] || samples=(--decisions "${samples[@]}")
    "$cache/venv/bin/python" "$here/train.py" "$out" "${samples[@]}" "${held[@]}" "$@"
    local server=()
    installed "$here/../../tests/llama" "$here/../../.cache/llama" &&
        server=(--server "$here/../../.cache/llama/venv/bin/python" "$here/../../tests/llama/serve.py")
    "$cache/venv/bin/python" "$here/check.py" "$out" "${server[@]}"
    echo "$out: model.safetensors, model.gguf, Modelfile, card.md"
}

case ${1:-} in
    environment) environment ;;
    model) [ $# -ge 3 ] || usage; shift; model "$@" ;;
    *) usage ;;
esac
