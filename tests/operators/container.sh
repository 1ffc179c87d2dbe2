#!/bin/sh
# Builds the image and trains in it, where a container engine answers.
#
#   container.sh ROOT
set -eu
cd "$1"
why=$(scripts/container-engine info 2>&1 >/dev/null) || { echo "SKIPPED: ${why#container-engine: }"; exit 0; }
image=rudder-test-$$
trap 'scripts/container-engine rmi -f "$image" >/dev/null 2>&1 || true' EXIT
scripts/container-engine build -f Containerfile -t "$image" .
in_image() { scripts/container-engine run --rm --shm-size=1g --entrypoint sh "$image" -c "$1"; }
[ "$(scripts/container-engine run --rm "$image" --version)" = "rudder $(sed -n 's/^project(rudder VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)" ]
in_image 'cd && rudder generate sbm graph --vertices 2000 --quiet && rudder partition graph parts --parts 2 --quiet &&
    rudder train parts --ranks 2 --epochs 1 --hidden 16 --out run --quiet && test -s run/summary.json && test "$(id -u)" != 0'
in_image 'rudder agent list >/dev/null && ! command -v g++'
echo "built, and trained on two ranks"
