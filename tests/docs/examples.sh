#!/bin/sh
# Runs one of the examples on a small graph and looks at what it says.
#
#   examples.sh WHAT RUDDER EXAMPLES_FOLDER SOURCE_FOLDER [PYTHON]
set -eu
what=$1
rudder=$2
built=$3
source=$4
python=${5:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

fail() { echo "$*"; exit 1; }
data() {
    "$rudder" generate sbm graph --vertices 2000 --quiet
    "$rudder" partition graph parts --parts 2 --quiet
}
digest() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/summary.json"; }
train() { program=$1; shift; "$program" train parts --ranks 2 --ranks-per-host 1 --batch 50 --hidden 32 --quiet "$@"; }

case $what in
    train_own_policy)
        data
        "$built/train_own_policy" parts >said
        grep -q 'test accuracy 9[0-9]' said || grep -q 'test accuracy 100' said || fail "$(cat said)"
        grep -Eq 'remote rows: [1-9][0-9]* fetched, [1-9][0-9]* found' said || fail "$(cat said)"
        code=0; "$built/train_own_policy" nowhere 2>said || code=$?
        [ $code = 3 ] || fail "a missing data set gave $code: $(cat said)" ;;
    replay_trace)
        "$built/replay_trace" "$source/tests/data/golden/debian_500.npz" 0.25 >said
        # The rows that tests/data/golden/expected.json has for them.
        grep -Eq '^optimal +73453 ' said || fail "$(cat said)"
        grep -Eq '^lru +127949 ' said || fail "$(cat said)" ;;
    ask_model)
        data
        train "$rudder" --epochs 3 --out run
        "$rudder" generate sbm new --vertices 1000 --quiet
        "$built/ask_model" run new >said
        grep -Eq '^1000 vertices in [0-9.]+ ms$' said || fail "$(cat said)"
        right=$(sed -n 's/^\([0-9]*\) of 1000 are right$/\1/p' said)
        [ "${right:-0}" -gt 900 ] || fail "$(cat said)"
        grep -q '^vertex 2: output [0-9]*$' said || fail "$(cat said)"
        "$rudder" generate sbm narrow --vertices 100 --features random:5 --quiet
        code=0; "$built/ask_model" run narrow 2>said || code=$?
        [ $code = 3 ] && grep -q 'rows of 5 columns' said || fail "$code $(cat said)" ;;
    policy)
        data
        "$built/rudder_twice" replay "$source/tests/data/golden/debian_500.npz" --policy twice --policy twice:1 >said
        grep -q 'twice:2  138,481' said || fail "$(cat said)"
        train "$built/rudder_twice" --epochs 2 --policy twice --out mine
        train "$rudder" --epochs 2 --policy none --out plain
        [ "$(digest mine)" = "$(digest plain)" ] || fail "the policy changed the result"
        grep -q '"hit": 0,' mine/summary.json && fail "it kept nothing"
        code=0; "$rudder" replay "$source/tests/data/golden/debian_500.npz" --policy twice 2>/dev/null || code=$?
        [ $code = 2 ] || fail "rudder itself knows 'twice'" ;;
    agent)
        data
        "$built/rudder_tryout" replay "$source/tests/data/golden/debian_500.npz" --policy lru --agent tryout \
            --log log.jsonl >said
        grep -q 'lru + tryout *95,541' said || fail "$(cat said)"
        train "$built/rudder_tryout" --epochs 8 --policy lru --agent tryout:8 --out mine
        train "$rudder" --epochs 8 --policy none --out plain
        [ "$(digest mine)" = "$(digest plain)" ] || fail "the agent changed the result"
        grep -q 'shadow_better' mine/decisions.jsonl || fail "it never switched" ;;
    format)
        printf '# three edges and a lone vertex\n0 1 2\n1 2 # behind\n3\n' >graph.adjlist
        "$built/rudder_adjlist" import graph.adjlist graph --json >said
        grep -q '"vertices": 4' said && grep -q '"edges": 6' said || fail "$(cat said)"
        printf '0 1\n1 two\n' >bad.adjlist
        code=0; "$built/rudder_adjlist" import bad.adjlist bad 2>said || code=$?
        [ $code = 3 ] && grep -q "invalid vertex: 'two'" said && grep -q 'line 2' said || fail "$code $(cat said)"
        [ ! -e bad ] || fail "something was left" ;;
    model)
        data
        train "$built/rudder_gin" --model gin --epochs 3 --out mine
        "$built/rudder_gin" train parts --model gin --epochs 3 --batch 50 --hidden 32 --threads 2 --out alone --quiet
        [ "$(digest mine)" = "$(digest alone)" ] || fail "the number of ranks changed the result"
        "$built/rudder_gin" evaluate mine --json >said
        grep -Eq '"test": (0\.9|1\.0)' said || fail "$(cat said)" ;;
    read_run)
        "$python" -c 'import numpy' 2>/dev/null || { echo "SKIPPED: no NumPy in $python"; exit 0; }
        data
        train "$rudder" --epochs 3 --policy lru --agent bandit --trace --out run
        "$python" "$source/examples/read_run.py" run run.png >said
        grep -q '^test accuracy ' said && grep -q '^of the floor ' said && grep -q '^decisions ' said || fail "$(cat said)"
        if "$python" -c 'import matplotlib' 2>/dev/null; then
            [ "$(head -c 4 run.png | tail -c 3)" = PNG ] || fail "no picture: $(cat said)"
        else
            grep -q 'matplotlib is not installed' said || fail "$(cat said)"
        fi
        # A run that is cut in the middle of a line is read as far as it goes.
        head -c 5000 run/metrics.jsonl >cut && mv cut run/metrics.jsonl && rm run/summary.json
        "$python" "$source/examples/read_run.py" run run.png >said
        grep -q 'not finished' said || fail "$(cat said)"
        ! "$python" "$source/examples/read_run.py" nowhere 2>said || fail "a missing run was read" ;;
    *) fail "what is '$what'?" ;;
esac
