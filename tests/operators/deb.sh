#!/bin/bash
# Makes the Debian package of a build, looks through it, installs it into a root of its own and runs what it installed.
#
#   deb.sh ROOT BUILD_FOLDER
set -euo pipefail
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed (scripts/setup --package)"; exit 0; }
done
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "$*"; exit 1; }
package=$("$1/scripts/make-deb" "$2" "$place")

# What it says of itself.
[[ $(dpkg-deb -f "$package" Package) == rudder ]] || fail "another name"
[[ $package == */rudder_$(dpkg-deb -f "$package" Version)_$(dpkg --print-architecture).deb ]] || fail "the name is $package"
depends=$(dpkg-deb -f "$package" Depends)
for library in libc6 libstdc++6 $(ldd "$2/src/cli/rudder" | grep -q libmpi && echo libopenmpi3); do
    [[ $depends == *"$library"* ]] || fail "it does not depend on $library: $depends"
done
[[ $depends != *-dev* ]] || fail "it depends on a package for building: $depends"

# What it holds.
dpkg-deb -c "$package" >"$place/list"
for file in usr/bin/rudder usr/share/man/man1/rudder.1.gz usr/share/man/man1/rudder-train.1.gz \
    usr/share/bash-completion/completions/rudder usr/share/zsh/vendor-completions/_rudder \
    usr/share/fish/vendor_completions.d/rudder.fish usr/share/doc/rudder/copyright usr/share/doc/rudder/changelog.gz \
    usr/share/doc/rudder/examples/slurm/train.sbatch usr/share/doc/rudder/examples/grafana/rudder.json; do
    grep -q " \./$file\$" "$place/list" || fail "it lacks $file"
done
! grep -E '\.a$|/include/|/cmake/' "$place/list" || fail "the files above are for building"
! awk '$2 != "root/root"' "$place/list" | grep . || fail "the files above are not root's"

# Where it is installed it runs, and is known to dpkg.
if ((EUID == 0)); then
    mkdir -p "$place/tree/var/lib/dpkg"/{updates,info}
    touch "$place/tree/var/lib/dpkg/status"
    dpkg --root="$place/tree" --force-depends --log="$place/dpkg.log" -i "$package" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
    dpkg-query --admindir="$place/tree/var/lib/dpkg" -W -f '${db:Status-Status}' rudder | grep -qx installed || fail "not installed"
else
    dpkg-deb -x "$package" "$place/tree"
fi
installed=$place/tree/usr/bin/rudder
[[ $("$installed" --version) == "rudder $(dpkg-deb -f "$package" Version)"* ]] || fail "another version runs"
(cd "$place" && "$installed" generate sbm graph --vertices 500 --quiet && "$installed" info graph --check >/dev/null)
gzip -dc "$place/tree/usr/share/man/man1/rudder.1.gz" | grep -q '^\.SH VERBS' || fail "invalid manual page: rudder.1"

# The same build makes the same package.
mkdir "$place/again"
cmp "$package" "$("$1/scripts/make-deb" "$2" "$place/again")" || fail "made again, it differs"

command -v lintian >/dev/null || { echo "SKIPPED: lintian is not installed, all else was right (scripts/setup --lint)"; exit 0; }
root=(); ((EUID == 0)) && root=(--allow-root)
lintian "${root[@]}" --fail-on error,warning "$package" || fail "lintian is not content"
echo "$(basename "$package"): $(wc -l <"$place/list") entries, $(stat -c %s "$package") bytes, lintian is content"
