#!/bin/sh
# A set-up without root names the one line to run and touches nothing; one with a wrong RUDDER_TORCH
# says so. Works on a copy of the scripts, with stand-ins for dpkg-query, apt-get and id.
set -eu
source=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
mkdir "$tree/scripts" "$tree/bin"
cp "$source/scripts/setup" "$source/scripts/packages.txt" "$source/scripts/requirements.txt" "$tree/scripts"
printf '#!/bin/sh\nexit 1\n' >"$tree/bin/dpkg-query"
printf '#!/bin/sh\ntouch "%s/apt-was-called"\nexit 1\n' "$tree" >"$tree/bin/apt-get"
chmod +x "$tree/bin/dpkg-query" "$tree/bin/apt-get"

if [ "$(id -u)" = 0 ]; then
    command -v setpriv >/dev/null || { echo "SKIPPED: needs setpriv to give up root"; exit 77; }
    as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
else
    as_user=
fi
if said=$(PATH="$tree/bin:$PATH" $as_user bash "$tree/scripts/setup" 2>&1); then
    echo "a set-up with missing packages and no root ended well: $said"
    exit 1
fi
case "$said" in
    *"sudo apt-get install -y --no-install-recommends g++ cmake"*) ;;
    *) echo "the line to run is missing: $said"; exit 1 ;;
esac
[ ! -e "$tree/apt-was-called" ] && [ ! -e "$tree/.venv" ] || { echo "it did something"; exit 1; }

# Everything installed, but the torch the user names is none.
printf '#!/bin/sh\nshift 3\nfor p; do echo "$p installed"; done\n' >"$tree/bin/dpkg-query"
if said=$(PATH="$tree/bin:$PATH" RUDDER_TORCH="$tree" bash "$tree/scripts/setup" 2>&1); then
    echo "a wrong RUDDER_TORCH was accepted"
    exit 1
fi
case "$said" in
    *"lib/libtorch_cpu.so does not exist"*) ;;
    *) echo "wrong words about RUDDER_TORCH: $said"; exit 1 ;;
esac
[ ! -e "$tree/.venv" ] || { echo "it did something"; exit 1; }
