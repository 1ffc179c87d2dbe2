#!/bin/sh
# What check_containerfile.py refuses: one change each, and the words of what it says.
#
#   containerfile_test.sh PYTHON ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$1" "$here/check_containerfile.py" "$2"
refused() { # SED_EXPRESSION WORDS
    sed "$1" "$2/Containerfile" >"$place/file"
    if said=$("$4" "$here/check_containerfile.py" "$2" "$place/file" 2>&1); then
        echo "not refused: $1"
        exit 1
    fi
    case "$said" in *"$3"*) ;; *) echo "$1: $said"; exit 1 ;; esac
}
refused 's/^WORKDIR/WORKFOLDER/' "$2" 'unknown instruction WORKFOLDER' "$1"
refused 's/--from=build/--from=builder/' "$2" 'no stage builder' "$1"
refused 's/openmpi-bin/openmpi-tools/' "$2" 'does not list openmpi-tools' "$1"
refused 's/debian:12-slim/debian:13-slim/' "$2" 'is not Debian 12' "$1"
refused 's/--package/--packages/' "$2" 'no group packages' "$1"
refused 's/^COPY scripts/COPY build scripts/' "$2" 'is ignored' "$1"
refused 's/^USER rudder/USER root/' "$2" 'runs as root' "$1"
refused 's/^ENTRYPOINT.*/ENTRYPOINT rudder/' "$2" 'ENTRYPOINT of the image' "$1"
refused 's/packages.txt scripts/packages.text scripts/' "$2" 'scripts/packages.text is not there' "$1"
refused 's/make-deb/make-debs/' "$2" 'scripts/make-debs is not there' "$1"
refused 's/--preset release -D/--preset releases -D/' "$2" 'no preset releases' "$1"
refused 's/-DRUDDER_MPI/-DRUDDER_MPIS/' "$2" 'no option RUDDER_MPIS' "$1"
refused 's/^COPY \. \.$//' "$2" 'scripts/make-deb was not copied' "$1"
echo "thirteen kinds of mistakes are found"
