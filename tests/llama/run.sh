#!/bin/sh
# Training runs on four ranks that a tiny model, which is made here, steers behind llama.cpp's own
# server: 200 decisions, and 40 in the published protocol.
#
#   run.sh RUDDER LLAMA_DECISIONS CACHE_FOLDER
set -eu
rudder=$1
check=$2
cache=$3
here=$(cd "$(dirname "$0")" && pwd)
venv=$cache/venv

# --- llama.cpp's server, in a virtual environment of its own -----------------------------------

. "$here/../support/venv.sh"
need_packages "$here" "$cache" "llama.cpp's server"

# --- A model and a server ----------------------------------------------------------------------

place=$(mktemp -d)
server=
finish() {
    exec 3>&- || true  # the server ends with its standard input
    [ -z "$server" ] || { wait "$server" 2>/dev/null || true; }
    rm -rf "$place"
}
trap finish EXIT
"$check" --prompt >"$place/prompt"
"$venv/bin/python" "$here/make_model.py" "$place/prompt" "$place/tiny.gguf"
mkfifo "$place/input"
"$venv/bin/python" "$here/serve.py" "$place/tiny.gguf" \
    <"$place/input" >"$place/address" 2>"$place/log" &
server=$!
exec 3>"$place/input"
tries=0
until [ -s "$place/address" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 300 ] || ! kill -0 "$server" 2>/dev/null; then
        cat "$place/log"
        echo "llama.cpp's server did not start"
        exit 1
    fi
    sleep 0.1
done
url=$(head -n 1 "$place/address")
unset RUDDER_LLM_KEY OPENAI_API_KEY

# --- Runs --------------------------------------------------------------------------------------

cd "$place"
"$rudder" generate sbm graph --vertices 2000 --seed 3 --quiet
"$rudder" partition graph parts --parts 4 --method ldg --quiet

# train OUT EPOCHS POLICY OPTION...: 11 steps an epoch, in each of which each rank's agent is asked.
train() {
    out=$1 epochs=$2 policy=$3
    shift 3
    "$rudder" train parts --ranks 4 --ranks-per-host 1 --batch 30 --hidden 16 --fanout 4,6 \
        --eval-every 0 --epochs "$epochs" --policy "$policy" --out "$out" "$@" \
        >"$out.out" 2>"$out.err" </dev/null || { cat "$out.out" "$out.err"; exit 1; }
}
# steered NAME EPOCHS POLICY COUNT KEYS: the same run unsteered and steered by the model.
steered() {
    train "$1-plain" "$2" "$3,every:16" --agent never
    train "$1" "$2" "$3" --agent-mode sync --agent-deadline 600 --llm-url "$url" \
        --agent "llm,interval:1,temperature:1,tokens:1024,deadline:300$5"
    echo "$1:"
    "$check" "$1" "$1-plain" "$4"
    # The account may suspend a model that chooses at random; failures to answer must not.
    if grep "failed answers" "$1.err"; then exit 1; fi
}
steered model 30 scored 200 ""
steered published 3 scored-faithful 40 ,faithful
