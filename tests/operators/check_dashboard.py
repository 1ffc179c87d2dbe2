"""The Grafana dashboard: what an import needs is there, every panel has the fields and options that Grafana 9.5 knows for its
type, with values that it knows, panels lie beside each other, and every metric and label it names is one that the program serves
(docs/metrics.md, which a test holds against the program's catalogue). Where promtool is there, it reads every query.

    check_dashboard.py ROOT [DASHBOARD]
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Fields that Grafana's import asks for, and their types; a panel's further below.
DASHBOARD = {"__inputs": list, "__requires": list, "uid": str, "title": str, "tags": list, "schemaVersion": int,
             "version": int, "refresh": str, "time": dict, "annotations": dict, "templating": dict, "panels": list}
PANEL = {"id": int, "type": str, "title": str, "gridPos": dict}
QUERIED = {"datasource": dict, "fieldConfig": dict, "options": dict, "targets": list}
TARGET = {"refId": str, "expr": str, "datasource": dict}
# Shapes: a type, a set of the values that are known, a list of one shape, or all that an object may have.
REDUCTION = {"calcs": [{"lastNotNull", "last", "first", "min", "max", "mean", "sum"}], "fields": str, "values": bool}
ORIENTATION = {"auto", "horizontal", "vertical"}
OPTIONS = {
    "gauge": {"reduceOptions": REDUCTION, "orientation": ORIENTATION, "showThresholdLabels": bool, "showThresholdMarkers": bool},
    "stat": {"reduceOptions": REDUCTION, "orientation": ORIENTATION, "justifyMode": {"auto", "center"},
             "colorMode": {"none", "value", "background"}, "graphMode": {"none", "line", "area"},
             "textMode": {"auto", "value", "value_and_name", "name", "none"}},
    "table": {"showHeader": bool, "frameIndex": int, "cellHeight": {"sm", "md", "lg"}},
    "timeseries": {"legend": {"displayMode": {"list", "table", "hidden"}, "placement": {"bottom", "right"}, "showLegend": bool,
                              "calcs": [str]},
                   "tooltip": {"mode": {"single", "multi", "none"}, "sort": {"none", "asc", "desc"}}},
}
NEEDED_OPTIONS = {"gauge": {"reduceOptions"}, "stat": {"reduceOptions"}, "table": set(), "timeseries": {"legend", "tooltip"}}
CUSTOM = {"timeseries": {"fillOpacity": int, "lineWidth": int, "drawStyle": {"line", "bars", "points"},
                         "stacking": {"group": str, "mode": {"none", "normal", "percent"}}}}
TRANSFORMATIONS = {"organize", "merge", "labelsToFields", "sortBy", "reduce", "joinByField"}
TARGET_SHAPE = {"refId": str, "expr": str, "datasource": {"type": str, "uid": str}, "legendFormat": str, "instant": bool,
                "range": bool, "format": {"time_series", "table", "heatmap"}}
ROW = {"id": int, "type": {"row"}, "title": str, "collapsed": bool, "gridPos": dict, "panels": list}
COLUMNS = 24
UNITS = {"none", "short", "percentunit", "s", "cps", "Bps"}
WORDS = {"sum", "by", "rate", "deriv", "label_values"}
SCRAPED = {"job", "instance"}  # labels that Prometheus adds

wrong = []


def fields(what, of, wanted):
    for name, kind in wanted.items():
        if not isinstance(of.get(name), kind) or isinstance(of.get(name), bool):
            wrong.append(f"{what}: {name} is not a {kind.__name__}")


def shaped(where, value, shape):
    """Whether a value is as a shape says; objects may lack fields, and have no others."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            wrong.append(f"{where} is not an object")
            return
        for name, one in value.items():
            if name not in shape:
                wrong.append(f"{where} has no field {name}")
            else:
                shaped(f"{where}.{name}", one, shape[name])
    elif isinstance(shape, list):
        for number, one in enumerate(value if isinstance(value, list) else [value]):
            shaped(f"{where}[{number}]", one, shape[0])
    elif isinstance(shape, set):
        if value not in shape:
            wrong.append(f"{where} is {value!r}, which is none of {', '.join(sorted(shape))}")
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape is not bool):
        wrong.append(f"{where} is not a {shape.__name__}")


def panel_shape(kind):
    defaults = {"unit": UNITS, "min": int, "max": int, "decimals": int, "custom": CUSTOM.get(kind, {})}
    return {"id": int, "type": {kind}, "title": str, "description": str, "gridPos": dict, "datasource": {"type": str, "uid": str},
            "fieldConfig": {"defaults": defaults, "overrides": list}, "options": OPTIONS[kind], "targets": [TARGET_SHAPE],
            "transformations": [{"id": TRANSFORMATIONS, "options": dict}]}


def metrics_of(page):
    """Names of metrics, with the labels of each."""
    found = {}
    step = page[page.index("## Of every step"):page.index("## Of every epoch")]
    for name in re.findall(r"`(rudder_\w+)` \|", step):
        found[name] = {"rank"}
    epoch = page[page.index("## Of every epoch"):page.index("## In Prometheus alone")]
    for name, labels in re.findall(r"`(rudder_\w+)(?:\{([^}]*)\})?` \|", epoch):
        found.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
    for name, labels in re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]*) \|", page[page.index("## In Prometheus alone"):], re.M):
        found[name] = {label.strip() for label in labels.split(",") if label.strip()}
    return found


def check_query(where, expr, legend, known):
    text = re.sub(r"\[[^\]]*\]|\"[^\"]*\"", "", expr)
    names = {word for word in re.findall(r"[a-zA-Z_]\w*", re.sub(r"\{[^}]*\}|\b(?:by|without) *\([^)]*\)", "", text))}
    metrics = names - WORDS
    for name in metrics - known.keys():
        wrong.append(f"{where}: the program serves no metric {name}")
    if not metrics:
        wrong.append(f"{where}: no metric in {expr}")
    labels = SCRAPED.union(*(known.get(name, set()) for name in metrics))
    used = set(re.findall(r"(\w+) *(?:=~|!~|!=|=)", " ".join(re.findall(r"\{[^}]*\}", text))))
    used |= {label.strip() for group in re.findall(r"\bby *\(([^)]*)\)", text) for label in group.split(",")}
    used |= set(re.findall(r"\{\{(\w+)\}\}", legend))
    for label in used - labels:
        wrong.append(f"{where}: its metrics have no label {label}")


def check_places(panels):
    taken = {}
    for panel in panels:
        place = panel["gridPos"]
        if any(not isinstance(place.get(key), int) for key in "xywh") or place["w"] < 1 or place["h"] < 1 or \
                place["x"] < 0 or place["x"] + place["w"] > COLUMNS:
            wrong.append(f"{panel['title']}: it does not fit the {COLUMNS} columns: {place}")
            continue
        for cell in ((x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])):
            if cell in taken:
                wrong.append(f"{panel['title']}: it lies over {taken[cell]}")
                break
            taken[cell] = panel["title"]


def check_panels(board, known):
    source = {"type": "prometheus", "uid": "${" + board["__inputs"][0]["name"] + "}"}
    required = {each["id"] for each in board["__requires"] if each["type"] == "panel"}
    queries, ids = [], set()
    for panel in board["panels"]:
        where = panel.get("title", "a panel")
        fields(where, panel, PANEL)
        if panel["id"] in ids:
            wrong.append(f"{where}: its id {panel['id']} is another's, too")
        ids.add(panel["id"])
        if panel["type"] == "row":
            shaped(where, panel, ROW)
            continue
        if panel["type"] not in required:
            wrong.append(f"{where}: __requires lacks the panel type {panel['type']}")
        if panel["type"] not in OPTIONS:
            wrong.append(f"{where}: unknown panel type {panel['type']}")
            continue
        fields(where, panel, QUERIED)
        shaped(where, panel, panel_shape(panel["type"]))
        for name in NEEDED_OPTIONS[panel["type"]] - panel["options"].keys():
            wrong.append(f"{where}: its options lack {name}")
        if len({target["refId"] for target in panel["targets"]}) != len(panel["targets"]) or not panel["targets"]:
            wrong.append(f"{where}: refIds must be there and differ")
        for target in panel["targets"]:
            fields(where, target, TARGET)
            if not TARGET.keys() <= target.keys():
                continue
            if target["datasource"] != source or panel["datasource"] != source:
                wrong.append(f"{where}: its data source is not the one that the import asks for")
            check_query(where, target["expr"], target.get("legendFormat", ""), known)
            queries.append(target["expr"])
    return queries


def check_syntax(queries):
    """promtool reads queries as those of recording rules."""
    if not shutil.which("promtool"):
        return "without promtool"
    rules = "groups:\n  - name: dashboard\n    rules:\n"
    for number, query in enumerate(queries):
        query = query.replace("$__rate_interval", "5m").replace("$job", ".*")
        rules += f"      - record: panel_{number}\n        expr: {json.dumps(query)}\n"
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        file.write(rules)
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], text=True, capture_output=True)
    if done.returncode != 0:
        wrong.append(done.stdout + done.stderr)
    return "read by promtool"


def main():
    root = pathlib.Path(sys.argv[1])
    file = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "examples/grafana/rudder.json"
    board = json.loads(file.read_text())
    known = metrics_of((root / "docs/metrics.md").read_text())
    fields("the dashboard", board, DASHBOARD)
    if board.get("id", 0) is not None:
        wrong.append("the dashboard: id is null in a file to import")
    queries = check_panels(board, known)
    check_places(board["panels"])
    for variable in board["templating"]["list"]:
        check_query(f"variable {variable['name']}", re.sub(r", *\w+\)", ")", variable["definition"]), "", known)
    syntax = "" if wrong else check_syntax(queries)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(board['panels'])} panels, {len(queries)} queries, {syntax}; {len(known)} metrics known")


main()
