#!/usr/bin/env python3
"""Draws one step of a profile as a picture: a lane for each task of a rank, a bar for each span.

    profile_picture.py RUN/profile.json --out STEP.svg [--step N] [--ranks 1] [--title TEXT]

The step is the one of median length of rank 0 unless it is named. Plain SVG with a dark variant inside.
"""
import argparse
import json
import sys
from xml.sax.saxutils import escape

# Category of a span: what the legend says, its colour on a light page and on a dark one.
COLOURS = {
    "compute": ("compute, update", "#35608f", "#7fb0e6"),
    "stall": ("stall: waits for rows", "#b3261e", "#f2877f"),
    "reduce": ("reduce: gradients", "#7a4fa3", "#c29be6"),
    "fetch": ("fetch", "#2f7240", "#7cc791"),
    "buffer": ("buffer: bookkeeping", "#a86213", "#e8ad60"),
    "sample": ("sample", "#0f766e", "#5fd0c5"),
    "serve": ("serve: answers other ranks", "#6b7280", "#a3acb8"),
    "other": ("other", "#9a988e", "#6c737d"),
    "wait": ("waits", "#e4e1d6", "#2c323a"),
}
LEFT, WIDTH, LANE, TOP = 150, 820, 22, 64


def spans_of(events):
    return [e for e in events if e["ph"] == "X"]


def named(events, what):
    return {(e["pid"], e["tid"] if what == "thread_name" else 0): e["args"]["name"]
            for e in events if e["ph"] == "M" and e["name"] == what}


def ranks_of(events):
    """Process numbers in the order of ranks."""
    order = {e["pid"]: e["args"]["sort_index"] for e in events if e["ph"] == "M" and e["name"] == "process_sort_index"}
    return sorted(order, key=order.get)


def choose_step(events, pid, number):
    steps = sorted((e for e in spans_of(events) if e["name"] == "step" and e["pid"] == pid), key=lambda e: e["dur"])
    if not steps:
        raise ValueError("the profile has no step")
    if number is None:
        return steps[len(steps) // 2]
    found = [e for e in steps if e["args"].get("step") == number]
    if not found:
        raise ValueError(f"the profile has no step {number}")
    return found[0]


def lanes_of(events, pid, begin, end):
    """Tasks that did something meanwhile, in the order of the profile: name and its spans."""
    order = {e["tid"]: e["args"]["sort_index"] for e in events
             if e["ph"] == "M" and e["name"] == "thread_sort_index" and e["pid"] == pid}
    names = named(events, "thread_name")
    lanes = []
    for tid in sorted(order, key=order.get):
        spans = [e for e in spans_of(events) if (e["pid"], e["tid"]) == (pid, tid) and e["name"] != "step"
                 and e["ts"] < end and e["ts"] + e["dur"] > begin]
        if any(e["cat"] != "wait" for e in spans):
            lanes.append((names.get((pid, tid), f"thread {tid}"), sorted(spans, key=lambda e: -e["dur"])))
    return lanes


def tick_of(length):
    """Microseconds between ticks, so that there are 4 to 10."""
    tick = 1.0
    while length / tick > 10:
        tick *= 2 if str(tick)[0] == "1" else 2.5 if str(tick)[0] == "2" else 2
    return tick


def style():
    light = "".join(f"  .{name} {{ fill: {colour}; }}\n" for name, (_, colour, _) in COLOURS.items())
    dark = "".join(f"    .{name} {{ fill: {colour}; }}\n" for name, (_, _, colour) in COLOURS.items())
    return f"""<style>
  .page {{ fill: #fbfbf8; stroke: #c9c7bd; }}
  text {{ font-family: 'DejaVu Sans', Verdana, Arial, sans-serif; font-size: 12px; fill: #1d2126; }}
  .head {{ font-size: 14px; font-weight: bold; }}
  .in {{ font-size: 11px; fill: #ffffff; }}
  .rule {{ stroke: #c9c7bd; stroke-width: 1; }}
{light}  @media (prefers-color-scheme: dark) {{
    .page {{ fill: #16191d; stroke: #3a3f46; }}
    text {{ fill: #eceff3; }}
    .in {{ fill: #16191d; }}
    .rule {{ stroke: #3a3f46; }}
{dark}  }}
</style>"""


class Picture:
    def __init__(self, begin, end):
        self.begin, self.end = begin, end
        self.lines = []
        self.y = TOP

    def x(self, moment):
        inside = min(max(moment, self.begin), self.end)
        return LEFT + (inside - self.begin) / (self.end - self.begin) * WIDTH

    def text(self, x, y, words, kind="", anchor="start"):
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}"' + (f' class="{kind}"' if kind else "")
                          + (f' text-anchor="{anchor}"' if anchor != "start" else "") + f">{escape(words)}</text>")

    def lane(self, name, spans):
        self.text(LEFT - 8, self.y + 15, name, anchor="end")
        for span in spans:
            left, right = self.x(span["ts"]), self.x(span["ts"] + span["dur"])
            kind = span["cat"] if span["cat"] in COLOURS else "other"
            if right - left < 0.3 and kind in ("wait", "other"):
                continue
            lower = 3 if kind == "wait" else 0
            self.lines.append(f'<rect x="{left:.1f}" y="{self.y + lower}" width="{max(right - left, 0.5):.1f}" '
                              f'height="{LANE - 4 - 2 * lower}" class="{kind}"><title>{escape(span["name"])}: '
                              f'{span["dur"] / 1e3:.2f} ms</title></rect>')
            if kind != "wait" and right - left > 8 * len(span["name"]):
                self.text(left + 4, self.y + 13, span["name"], "in")
        self.y += LANE

    def axis(self):
        length = self.end - self.begin
        tick = tick_of(length)
        moment = 0.0
        while moment <= length:
            x = self.x(self.begin + moment)
            self.lines.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{self.y}" class="rule"/>')
            self.text(x, self.y + 14, f"{moment / 1e3:g} ms", anchor="middle")
            moment += tick
        self.y += 34

    def legend(self, used):
        x = LEFT
        for kind, (words, _, _) in COLOURS.items():
            if kind not in used:
                continue
            wide = 24 + 7.2 * len(words)
            if x + wide > LEFT + WIDTH:
                x, self.y = LEFT, self.y + 20
            self.lines.append(f'<rect x="{x}" y="{self.y - 10}" width="14" height="12" class="{kind}"/>')
            self.text(x + 19, self.y, words)
            x += wide
        self.y += 16


def draw(profile, number=None, ranks=1, title=""):
    events = profile["traceEvents"]
    pids = ranks_of(events)[:ranks]
    step = choose_step(events, pids[0], number)
    begin, end = step["ts"], step["ts"] + step["dur"]
    picture, used = Picture(begin, end), set()
    hosts = named(events, "process_name")
    body = []
    for pid in pids:
        lanes = lanes_of(events, pid, begin, end)
        if len(pids) > 1:
            picture.text(12, picture.y + 14, hosts[(pid, 0)], "head")
            picture.y += LANE
        for name, spans in lanes:
            used |= {span["cat"] if span["cat"] in COLOURS else "other" for span in spans}
            picture.lane(name, spans)
    bars, picture.lines = picture.lines, []
    picture.axis()
    picture.legend(used)
    rules = picture.lines
    what = title or f"Step {step['args'].get('step', '?')} of {profile['otherData']['made_by']}"
    height = picture.y + 4
    body = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 30} {height:.0f}" '
            f'width="{LEFT + WIDTH + 30}" height="{height:.0f}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(what)}</title>',
            f'<desc id="desc">What each task of a rank did during one step of {step["dur"] / 1e3:.1f} ms.</desc>',
            style(), f'<rect x="0.5" y="0.5" width="{LEFT + WIDTH + 29}" height="{height - 1:.0f}" rx="8" class="page"/>',
            f'<text x="16" y="28" class="head">{escape(what)}</text>',
            f'<text x="16" y="46">{step["dur"] / 1e3:.1f} ms from one step\'s end to the next\'s; tasks of rank 0</text>'
            if len(pids) == 1 else f'<text x="16" y="46">{step["dur"] / 1e3:.1f} ms, tasks of {len(pids)} ranks</text>']
    return "\n".join([*body, *rules, *bars, "</svg>\n"])


def main():
    parser = argparse.ArgumentParser(prog="profile_picture.py", description=__doc__.splitlines()[0])
    parser.add_argument("profile")
    parser.add_argument("--out", required=True)
    parser.add_argument("--step", type=int)
    parser.add_argument("--ranks", type=int, default=1, help="how many ranks to show, from the first")
    parser.add_argument("--title", default="")
    found = parser.parse_args()
    if found.ranks < 1:
        parser.error(f"invalid --ranks: {found.ranks}")
    try:
        with open(found.profile) as file:
            picture = draw(json.load(file), found.step, found.ranks, found.title)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"profile_picture.py: invalid profile {found.profile}: {error}")
    with open(found.out, "w") as file:
        file.write(picture)


if __name__ == "__main__":
    main()
