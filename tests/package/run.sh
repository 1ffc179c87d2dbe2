#!/bin/sh
# Installs the build into a fresh prefix and builds and runs a project that finds it there.
#
#   run.sh CMAKE BUILD_FOLDER BUILD_TYPE
set -eu
cmake=$1
build=$2
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$cmake" --install "$build" --prefix "$place/prefix" >"$place/log" || { cat "$place/log"; exit 1; }
"$place/prefix/bin/rudder" --version >/dev/null
for file in man/man1/rudder.1 man/man1/rudder-train.1 bash-completion/completions/rudder zsh/site-functions/_rudder \
    fish/vendor_completions.d/rudder.fish; do
    [ -s "$place/prefix/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
done
"$cmake" -S "$here" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE="$3" \
    -DCMAKE_PREFIX_PATH="$place/prefix" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
"$cmake" --build "$place/build" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
"$place/build/consumer"
# The examples are such a project, too; two of them tell.
"$cmake" -S "$here/../../examples" -B "$place/examples" -G Ninja -DCMAKE_BUILD_TYPE="$3" \
    -DCMAKE_PREFIX_PATH="$place/prefix" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
"$cmake" --build "$place/examples" --target replay_trace rudder_twice >"$place/log" 2>&1 ||
    { cat "$place/log"; exit 1; }
"$place/examples/replay_trace" "$here/../data/golden/debian_500.npz" >/dev/null
"$place/examples/rudder_twice" replay --policies | grep -q '^twice'
# Nothing installed may point back into the source or build tree.
if grep -rlF "$build" "$place/prefix/lib" --include='*.cmake'; then
    echo "the files above name the build folder"
    exit 1
fi
