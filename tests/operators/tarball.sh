#!/bin/bash
# Makes the archive of a build and runs it where there is nothing but libc6, libstdc++6 and libgcc-s1: every library it
# needs is in it or of these, and in a root that holds these alone it makes a graph and trains.
#
#   tarball.sh ROOT BUILD_FOLDER
set -euo pipefail
command -v patchelf >/dev/null || { echo "SKIPPED: patchelf is not installed (scripts/setup --package)"; exit 0; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "$*"; exit 1; }
archive=$("$1/scripts/make-tarball" "$2" "$place")
root=$place/root
mkdir -p "$root"/{tmp,opt}
tar -C "$root/opt" -xzf "$archive"
unpacked=$(echo "$root"/opt/rudder-*)
name=${unpacked##*/}
for file in bin/rudder share/man/man1/rudder-train.1 share/bash-completion/completions/rudder share/doc/rudder/LICENSE \
    share/doc/rudder/slurm/train.sbatch share/doc/rudder/grafana/rudder.json; do
    [[ -e $unpacked/$file ]] || fail "it lacks $file"
done

# Every library that is needed lies in it, or is of the base system.
base='^(ld-linux-.*|libc|libm|libresolv|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so'
find "$unpacked/lib" -name '*.so*' -printf '%f\n' | sort -u >"$place/bundled"
find "$unpacked/lib" -type f -exec readelf -d {} + | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | grep -Ev "$base" >"$place/needed"
missing=$(comm -13 "$place/bundled" "$place/needed")
[[ -z $missing ]] || fail "it lacks libraries: $missing"
! grep -E "$base" "$place/bundled" || fail "the libraries above are the base system's"
[[ $("$unpacked/bin/rudder" --version) == rudder\ * ]] || fail "it does not start here"
ln -s "$unpacked/bin/rudder" "$place/link"
[[ $("$place/link" --version) == rudder\ * ]] || fail "it does not start by a link"
# Beside the machine's MPI it runs on several ranks.
if command -v mpirun >/dev/null && ldd "$2/src/cli/rudder" | grep -q libmpi; then
    (cd "$place" && "$unpacked/bin/rudder" generate sbm graph --vertices 500 --quiet &&
        "$unpacked/bin/rudder" partition graph parts --parts 2 --quiet &&
        "$unpacked/bin/rudder" train parts --ranks 2 --epochs 1 --hidden 8 --quiet >/dev/null) || fail "it does not run on two ranks"
fi

# In a root with the base system's libraries alone. Both systems have /bin and /lib in /usr; /proc says where a program lies.
mkdir -p "$root"/{dev,proc,usr/bin}
touch "$root/dev/null"
chmod 666 "$root/dev/null"
for folder in bin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
for package in libc6 libstdc++6 libgcc-s1 dash; do dpkg -L "$package"; done | grep -E '^/[^ ]*(/lib[^/]*\.so[^/]*|/ld-linux[^/]*|/dash)$' |
    while read -r file; do
        [[ -d $file ]] && continue
        to=$root/usr/${file#/}
        [[ $file == /usr/* ]] && to=$root$file
        mkdir -p "${to%/*}"
        cp -P "$file" "$to"
    done
ln -s dash "$root/usr/bin/sh"
enter=(unshare --mount)
((EUID == 0)) || enter=(unshare --map-root-user --mount)
# inside COMMAND: runs it there
inside() {
    "${enter[@]}" sh -c 'mount --rbind /proc "$1/proc" && exec env -i PATH=/usr/bin:/bin:"$2" HOME=/tmp "$(command -v chroot || echo /usr/sbin/chroot)" "$1" /bin/sh -c "cd /tmp && $3"' \
        sh "$root" "/opt/$name/bin" "$1"
}
inside true 2>"$place/log" || { echo "SKIPPED: no root of its own can be entered here: $(tail -1 "$place/log")"; exit 0; }
inside 'rudder --version' | grep -q '^rudder ' || fail "it does not start in a bare root"
inside 'rudder generate sbm graph --vertices 1000 --quiet && rudder partition graph parts --parts 2 --quiet &&
    rudder train parts --epochs 1 --hidden 8 --batch 50 --out run --quiet >/dev/null' || fail "it does not train in a bare root"
[[ -s $root/tmp/run/summary.json ]] || fail "no result"
# Without mpirun ranks talk over sockets; the memory that they share must be there, and they say so.
code=0
said=$(inside 'rudder train parts --ranks 2 --epochs 1' 2>&1) || code=$?
[[ $code != 0 && $said == *'/dev/shm'* ]] || fail "two ranks without shared memory: $code, $said"
mkdir "$root/dev/shm"
inside 'rudder train parts --ranks 2 --epochs 1 --hidden 8 --batch 50 --out two --quiet >/dev/null' || fail "two ranks do not train in a bare root"
digest() { sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' "$root/tmp/$1/summary.json"; }
[[ -n $(digest run) && $(digest two) == "$(digest run)" ]] || fail "two ranks: digest '$(digest two)', one rank '$(digest run)'"
echo "$(basename "$archive"): $(stat -c %s "$archive") bytes, $(wc -l <"$place/bundled") libraries, trained in a bare root"
