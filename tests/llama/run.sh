#!/bin/sh
# 200 decisions, and 40 in the published protocol, of a tiny model that is made here, behind
# llama.cpp's own server.
#
#   run.sh LLAMA_DECISIONS CACHE_FOLDER
set -eu
program=$1
cache=$2
here=$(cd "$(dirname "$0")" && pwd)
venv=$cache/venv

# --- llama.cpp's server, in a virtual environment of its own -----------------------------------

. "$here/../support/venv.sh"
need_packages "$here" "$cache" "llama.cpp's server"

# --- A model, a server, decisions --------------------------------------------------------------

place=$(mktemp -d)
server=
finish() {
    exec 3>&- || true  # the server ends with its standard input
    [ -z "$server" ] || { wait "$server" 2>/dev/null || true; }
    rm -rf "$place"
}
trap finish EXIT
"$program" --prompt >"$place/prompt"
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
"$program" "$url" 200
"$program" "$url" 40 ,faithful
