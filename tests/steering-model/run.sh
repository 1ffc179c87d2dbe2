#!/bin/sh
# The steering model's files: trained a little, written, read by NumPy and by llama.cpp's server.
#
#   run.sh CACHE_FOLDER PROMPT_SAMPLES LOCAL_REPLIES
set -eu
cache=$1
samples=$2
local=$3
here=$(cd "$(dirname "$0")" && pwd)
tools=$here/../../tools/steering-model
. "$here/../support/venv.sh"
if ! installed "$tools" "$cache/steering-model"; then
    echo "SKIPPED: $cache/steering-model is missing; make setup-model makes it"
    exit 0
fi
python=$cache/steering-model/venv/bin/python

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" "$here/model_test.py" "$samples"
# The model that is in the program: 1,000 prompts against torch, 200 against llama.cpp's server.
"$python" "$here/local_test.py" "$local" "$here/../../models/steering.safetensors" 1000
mkdir "$place/built-in"
cp "$here/../../models/steering.safetensors" "$place/built-in/model.safetensors"
"$python" "$tools/export_gguf.py" "$place/built-in/model.safetensors" "$place/built-in"
for name in first again; do
    "$python" "$tools/train.py" "$place/$name" --short 8 --short-batch 16 --steps 12 --batch 4 --most-lines 2 --threads 1 --test-groups 1 >"$place/log"
done
cmp "$place/first/model.safetensors" "$place/again/model.safetensors"
cmp "$place/first/model.gguf" "$place/again/model.gguf"
"$python" "$here/local_test.py" "$local" "$place/first/model.safetensors" 8
if installed "$here/../llama" "$cache/llama"; then
    server="$cache/llama/venv/bin/python $here/../llama/serve.py"
    # shellcheck disable=SC2086  # two words
    "$python" "$tools/check.py" "$place/first" --prompts 3 --server $server
    # shellcheck disable=SC2086
    "$python" "$tools/check.py" "$place/built-in" --prompts 200 --server $server
else
    echo "llama.cpp's server is not installed (llama.decisions does that): replies of it are not compared"
    "$python" "$tools/check.py" "$place/first" --prompts 3
    "$python" "$tools/check.py" "$place/built-in" --prompts 200
fi
