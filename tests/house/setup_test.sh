#!/bin/sh
# A set-up without root names the one line to run and touches nothing; one for building makes no
# .venv, one for tests does. Works on a copy of the scripts, with stand-ins for dpkg-query, apt-get and id.
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

# Everything installed: a set-up for building alone makes no environment; one for tests makes it, and
# says so where pip fails.
printf '#!/bin/sh\nshift 3\nfor p; do echo "$p installed"; done\n' >"$tree/bin/dpkg-query"
PATH="$tree/bin:$PATH" bash "$tree/scripts/setup"
[ ! -e "$tree/.venv" ] || { echo "a set-up for building made .venv"; exit 1; }
mkdir -p "$tree/.venv/bin"
printf '#!/bin/sh\ncase "$*" in *--version*) exit 0 ;; *) exit 1 ;; esac\n' >"$tree/.venv/bin/python"
chmod +x "$tree/.venv/bin/python"
if said=$(PATH="$tree/bin:$PATH" bash "$tree/scripts/setup" --tests 2>&1); then
    echo "a failing pip was not noticed"
    exit 1
fi
case "$said" in
    *"pip could not install scripts/requirements.txt"*) ;;
    *) echo "wrong words about pip: $said"; exit 1 ;;
esac
printf '#!/bin/sh\nexit 0\n' >"$tree/.venv/bin/python"
PATH="$tree/bin:$PATH" bash "$tree/scripts/setup" --tests >/dev/null
printf '#!/bin/sh\nexit 1\n' >"$tree/.venv/bin/python"
PATH="$tree/bin:$PATH" bash "$tree/scripts/setup" --tests || { echo "it was there already"; exit 1; }
if PATH="$tree/bin:$PATH" bash "$tree/scripts/setup" --test 2>/dev/null; then
    echo "an unknown option was accepted"
    exit 1
fi
