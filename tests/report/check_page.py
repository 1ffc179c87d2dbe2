"""Checks that a report is well-formed, unambiguous and self-contained; prints what is wrong."""
import base64
import hashlib
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "br", "input", "link"}
SVG_EMPTY = {"path", "rect", "circle"}


class Checker(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.wrong, self.labels, self.links = [], set(), [], [], []
        self.scripts, self.headings = [], []
        self.in_script = False

    def say(self, what):
        self.wrong.append(f"line {self.getpos()[0]}: {what}")

    def attributes(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.say(f"<{tag}> has an attribute twice")
        for name, value in attrs:
            if name.startswith("on"):
                self.say(f"<{tag}> has the handler {name}")
            if name in ("src", "srcset", "data", "action", "poster"):
                self.say(f"<{tag}> would fetch {value!r}")
            if name == "href":
                if not value.startswith("#"):
                    self.say(f"<{tag}> links to {value!r}")
                self.links.append(value[1:])
            if name == "id":
                if value in self.ids:
                    self.say(f"id {value!r} twice")
                self.ids.add(value)
            if name == "aria-labelledby":
                self.labels += value.split()
            if name == "style" and re.search(r"url|expression|[;{}]", value):
                self.say(f"style {value!r}")

    def handle_starttag(self, tag, attrs):
        self.attributes(tag, attrs)
        if tag in ("img", "iframe", "object", "embed", "link", "base", "form", "audio", "video"):
            self.say(f"<{tag}> has no place here")
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "script":
            self.in_script = True
            self.scripts.append("")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag, attrs):
        self.attributes(tag, attrs)
        if tag not in VOID | SVG_EMPTY:
            self.say(f"<{tag}/> is not closed in HTML")
        if tag in SVG_EMPTY and "svg" not in self.open:
            self.say(f"<{tag}/> outside of a drawing")

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.say(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()
        self.in_script = False

    def handle_data(self, data):
        if self.in_script:
            self.scripts[-1] += data


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    checker = Checker()
    checker.feed(text)
    wrong = checker.wrong
    if checker.open:
        wrong.append(f"never closed: {checker.open}")
    for label in checker.labels + checker.links:
        if label not in checker.ids:
            wrong.append(f"nothing has the id {label!r}")
    if len(checker.scripts) != 1:
        wrong.append(f"{len(checker.scripts)} scripts")
    digest = base64.b64encode(hashlib.sha256(checker.scripts[0].encode()).digest()).decode()
    if f"script-src &#39;sha256-{digest}&#39;" not in text:
        wrong.append(f"page.js.sha256 must hold sha256-{digest}")
    if "default-src &#39;none&#39;" not in text:
        wrong.append("no content security policy")
    if re.search(r"nan|inf(?![a-z])", "".join(re.findall(r' d="([^"]*)"', text)), re.I):
        wrong.append("a path has a coordinate that is no number")
    if checker.headings[:1] != [1] or checker.headings.count(1) != 1:
        wrong.append(f"headings begin with {checker.headings[:3]}")
    for above, below in zip(checker.headings, checker.headings[1:]):
        if below > above + 2:
            wrong.append(f"h{below} right below h{above}")
    print("\n".join(wrong[:20]), end="")


main()
