#!/usr/bin/env bash
# Makes the steering model from nothing: environment, decisions, training, files, checks.
#
#   build.sh environment                    the environment alone (.cache/steering-model)
#   build.sh options                        the OPTIONs that the model in the tree was made with
#   build.sh model RUDDER OUT [OPTION...]   the model; OPTIONs are train.py's
#
# Without OPTIONs it makes the model in the tree once more, which learned from made-up worlds alone, and says whether it has the
# same bytes. With some, decisions are collected on made graphs (collect.py) for COLLECT_MINUTES (10; 0: none), never on real
# ones. HELD_OUT names graphs of them that are tested on alone (the last one).
set -euo pipefail
in_tree=(--size 0.3 --short 1600 --steps 200 --threads 1 --checkpoint 20 --test-groups 20)
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
    local again=no minutes=${COLLECT_MINUTES:-10}
    if [ $# = 0 ]; then
        set -- "${in_tree[@]}"
        minutes=${COLLECT_MINUTES:-0}
        [ "$minutes" = 0 ] && again=yes
    fi
    environment
    mkdir -p "$out/decisions"
    if [ "$minutes" != 0 ]; then
        "$here/collect.py" --rudder "$rudder" --out "$out/decisions" --minutes "$minutes"
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
    [ $again = no ] && return
    if cmp -s "$out/model.safetensors" "$here/../../models/steering.safetensors"; then
        echo "the same bytes as models/steering.safetensors"
    else
        echo "not the bytes of models/steering.safetensors: another kind of machine, or other tools than it was made with"
    fi
}

case ${1:-} in
    environment) environment ;;
    options) echo "${in_tree[@]}" ;;
    model) [ $# -ge 3 ] || usage; shift; model "$@" ;;
    *) usage ;;
esac
