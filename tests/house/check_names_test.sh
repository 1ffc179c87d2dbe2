#!/bin/sh
# Plants clashing and misplaced names in a small tree and sees that scripts/check-names names each,
# and nothing else.
set -eu
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/core" "$tree/src/graph" "$tree/src/report" "$tree/include/rudder/graph" "$tree/tests/graph"

cat >"$tree/include/rudder/graph/good.hpp" <<'CODE'
// struct Comment { };
#define TWICE struct Macro { };
namespace rudder::graph {
class Later;              // a declaration is no definition
struct State { enum class Kind { a, b }; struct Part { int x; }; };
template <class T> struct Box { T value; };
inline const char* text = "struct Quoted { };";
using Edges = int;
inline State make() { struct Inside { int y; }; return State{}; }
}  // namespace rudder::graph
CODE
cat >"$tree/src/graph/good.cpp" <<'CODE'
namespace std { template <> struct hash<int> { }; }
namespace rudder::graph {
class Later { public: struct Kind { int k; }; enum Mode { on }; };
namespace { struct Helper { int z; }; using Same = double; }
}  // namespace rudder::graph
CODE
cat >"$tree/src/graph/other.cpp" <<'CODE'
namespace rudder::graph {
template <> struct Box<int> { int value; };
void work() { struct Inside { int y; } inside; (void)inside; }
namespace { using Same = double; }
}  // namespace rudder::graph
CODE
cat >"$tree/src/report/good.cpp" <<'CODE'
namespace rudder::report {
struct State { int same_name_in_another_layer; };
namespace { struct Helper { int z; }; }
}  // namespace rudder::report
CODE
echo 'namespace rudder { struct Error { }; namespace log { struct Line { }; } }' >"$tree/src/core/good.hpp"
echo 'namespace rudder { namespace { struct Helper { }; } }' >"$tree/tests/graph/a_test.cpp"
"$check" "$tree" || { echo "the good tree was refused"; exit 1; }

failures=0
# expect FILE LINE TEXT CONTENT: the content planted in FILE must be reported at LINE with TEXT.
expect() {
    mkdir -p "$(dirname "$tree/$1")"
    printf '%s' "$4" >"$tree/$1"
    if said=$("$check" "$tree"); then
        echo "not caught: $1: $4"
        failures=1
    fi
    case "$said" in
        *"$1:$2: "*"$3"*"1 violations"*) ;;
        *) echo "wrong words for $1: $said"; failures=1 ;;
    esac
    rm "$tree/$1"
}
expect src/graph/x.cpp 2 'rudder::graph::State is also defined at include/rudder/graph/good.hpp:5' 'namespace rudder::graph {
struct State { int other; };
}'
expect src/graph/x.cpp 1 'rudder::graph::Edges' 'namespace rudder::graph { using Edges = long; }'
expect src/graph/x.cpp 1 'rudder::graph::Edges' 'namespace rudder::graph { typedef long Edges; }'
expect src/graph/x.cpp 1 'rudder::graph::State' 'namespace rudder { namespace graph { enum class State : int { on }; } }'
expect src/graph/x.cpp 1 'Helper (unnamed namespace)' 'namespace rudder::graph { namespace { class Helper final { }; } }'
expect src/graph/x.cpp 1 'Same (unnamed namespace)' 'namespace rudder::graph { namespace { using Same = float; } }'
expect src/graph/x.cpp 1 'rudder::graph::Box' 'namespace rudder::graph { template <class A, class B> class Box { }; }'
expect src/graph/x.cpp 1 "defines A in 'rudder'" 'namespace rudder { struct A { }; }'
expect src/graph/x.cpp 1 "'rudder::report'" 'namespace rudder::report { void f() { } }'
expect src/graph/x.cpp 1 'the global namespace' 'struct A { };'
expect src/core/x.cpp 1 "'rudder::graph', not in 'rudder'" 'namespace rudder::graph { struct A { }; }'
expect tests/graph/b_test.cpp 1 'Helper (unnamed namespace)' 'namespace rudder { namespace { struct Helper { }; } }'
"$check" "$tree" >/dev/null
exit $failures
