#!/bin/sh
# The dashboard, and what check_dashboard.py refuses: one change each, and the words of what it says.
#
#   dashboard_test.sh PYTHON ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$1 root=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" "$here/check_dashboard.py" "$root"
mistakes=0
refused() { # SED_EXPRESSION WORDS
    sed "$1" "$root/examples/grafana/rudder.json" >"$place/file"
    if cmp -s "$place/file" "$root/examples/grafana/rudder.json"; then
        echo "nothing was changed by: $1"
        exit 1
    fi
    if said=$("$python" "$here/check_dashboard.py" "$root" "$place/file" 2>&1); then
        echo "not refused: $1"
        exit 1
    fi
    case "$said" in *"$2"*) ;; *) echo "$1: $said"; exit 1 ;; esac
    mistakes=$((mistakes + 1))
}
refused 's/rudder_steps_planned/rudder_steps_all/' 'serves no metric rudder_steps_all'
refused 's/{{rank}}/{{host}}/' 'have no label host'
refused 's/"unit": "Bps"/"unit": "furlongs"/' "is 'furlongs', which is none of Bps"
refused 's/"colorMode": "value"/"colorMode": "loud"/' "options.colorMode is 'loud'"
refused 's/"showHeader"/"showHead"/' 'options has no field showHead'
refused 's/"reduceOptions"/"reducedOptions"/' 'options lack reduceOptions'
refused 's/"showLegend": true/"showLegend": "yes"/' 'showLegend is not a bool'
refused 's/"x": 4, "y": 1,/"x": 0, "y": 1,/' 'it lies over'
refused 's/"type": "stat",$/"type": "status",/' 'unknown panel type status'
refused 's/"expr"/"expression"/' 'expr is not a str'
refused 's/"schemaVersion": 38/"schemaVersion": "38"/' 'schemaVersion is not a int'
refused 's/"id": 3,/"id": 2,/' "is another's, too"
echo "$mistakes kinds of mistakes are found"
