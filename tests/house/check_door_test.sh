#!/bin/sh
# Plants headers that do not belong under include/ in a small tree and sees that scripts/check-door
# names each.
set -eu
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/include/rudder/core" "$tree/src/core" "$tree/src/graph" "$tree/examples" "$tree/docs"
: >"$tree/docs/developers.md"
echo '#include "rudder/core/inner.hpp"' >"$tree/include/rudder/core/used.hpp"
: >"$tree/include/rudder/core/inner.hpp"
echo '#include "rudder/core/used.hpp"' >"$tree/src/graph/a.cpp"

expect() { # expect CODE WORDS
    code=0
    said=$("$check" "$tree") || code=$?
    [ "$code" = "$1" ] || { echo "ended with $code, not $1: $said"; exit 1; }
    case "$said" in *"$2"*) ;; *) echo "did not say '$2': $said"; exit 1 ;; esac
}

expect 0 '2 headers are installed'
: >"$tree/include/rudder/core/lonely.hpp"
expect 1 'include/rudder/core/lonely.hpp: used by no other layer'
echo '#include "rudder/core/lonely.hpp"' >"$tree/src/core/b.cpp"
expect 1 'include/rudder/core/lonely.hpp: used by no other layer'
echo '#include "rudder/core/lonely.hpp"' >"$tree/examples/c.cpp"
expect 0 '3 headers are installed'
echo '#include <fmt/format.h>' >"$tree/include/rudder/core/inner.hpp"
expect 1 'include/rudder/core/inner.hpp: includes fmt/format.h, of another project'
echo '#include <nlohmann/json_fwd.hpp>' >"$tree/include/rudder/core/inner.hpp"
expect 1 'include/rudder/core/inner.hpp: includes nlohmann/json_fwd.hpp, of another project'
: >"$tree/include/rudder/core/inner.hpp"
# The one header that may.
echo '#include <nlohmann/json_fwd.hpp>' >"$tree/include/rudder/core/json_fwd.hpp"
echo '#include "rudder/core/json_fwd.hpp"' >"$tree/src/graph/d.cpp"
expect 0 '4 headers are installed'
echo '#include <nlohmann/json.hpp>' >>"$tree/include/rudder/core/json_fwd.hpp"
expect 1 'include/rudder/core/json_fwd.hpp: includes nlohmann/json.hpp, of another project'
rm "$tree/include/rudder/core/json_fwd.hpp" "$tree/src/graph/d.cpp"
i=0
while [ $i -lt 88 ]; do
    echo "#include \"rudder/core/many$i.hpp\"" >>"$tree/examples/c.cpp"
    : >"$tree/include/rudder/core/many$i.hpp"
    i=$((i + 1))
done
expect 1 'include: 91 headers, at most 90'
