#!/bin/sh
# Plants violations in a small tree and sees that scripts/check-layers names each, and nothing else.
set -eu
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs" "$tree/src/core" "$tree/src/graph" "$tree/src/cli" "$tree/include/rudder/comm"
cat >"$tree/docs/design.md" <<'TABLE'
## 2. Before
| `wrong` | a table of another section | core |
## 3. The house
| folder | knows | may include |
| --- | --- | --- |
| `core` | ids | nothing of ours |
| `comm` | messages; it alone includes `mpi.h` | core |
| `graph` | CSR | core |
| `cli` | verbs | all above |
## 4. After
TABLE
echo '#include "rudder/core/types.hpp"' >"$tree/src/graph/good.cpp"
printf '#include <vector>\n#include <mpi.h>\n' >"$tree/include/rudder/comm/good.hpp"
printf '#include "rudder/graph/topology.hpp"\n#include "graph/io/npy.hpp"\n#include "good.hpp"\n' \
    >"$tree/src/cli/good.cpp"
printf '#include "core/json.hpp"\n#include <fmt/format.h>\n' >"$tree/src/graph/better.cpp"
sh "$check" "$tree"

failures=0
# expect FILE LINE TEXT CONTENT: the content planted in FILE must be reported at LINE with TEXT.
expect() {
    mkdir -p "$(dirname "$tree/$1")"
    printf "$4" >"$tree/$1"
    if said=$(sh "$check" "$tree"); then
        echo "not caught: $1: $4"
        failures=1
    fi
    case "$said" in
        *"$1$2: "*"$3"*) ;;
        *) echo "wrong words for $1: $said"; failures=1 ;;
    esac
    rm "$tree/$1"
}
expect src/core/a.cpp :2 'core may not include graph' '\n#include "rudder/graph/topology.hpp"\n'
expect src/graph/a.cpp :1 'graph may not include cli' '#include <rudder/cli/verbs.hpp>\n'
expect src/graph/a.hpp :3 'only comm includes mpi.h' '\n\n  #  include <mpi.h>\n'
expect include/rudder/core/a.hpp :1 'nothing includes torch' '#include <torch/torch.h>\n'
expect src/graph/b.cpp :2 'graph may not include comm' '#include <vector>\n#include "comm/link.hpp"\n'
expect src/core/a.hpp :1 'core may not include cli' '#include "cli/verbs/train.hpp"\n'
expect src/comm/a.cpp :1 'comm may not include graph' '#include "graph/io/npy.hpp"\n'
expect src/cli/a.cpp :1 'does not begin with a layer' '#include "verbs/train.hpp"\n'
expect src/core/b.cpp :1 'not in the table' '#include "rudder/wrong/a.hpp"\n'
expect src/core/c.cpp :1 'paths start at' '#include "../graph/a.hpp"\n'
expect src/wrong/a.cpp '' 'not in the table' '\n'
rmdir "$tree/src/wrong"
sh "$check" "$tree" >/dev/null
exit $failures
