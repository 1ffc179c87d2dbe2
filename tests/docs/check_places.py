"""Every make target and every script that a page names is there, and every script and folder is told of somewhere.

    check_places.py ROOT

Names are read from code: `make TARGET` at the beginning of a command, `scripts/NAME` anywhere. CONTRIBUTING.md and the
table of docs/hacking.md are the places where one looks; targets are those of the Makefile, each with its line in make help.
"""
import pathlib
import re
import sys

PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"]
FEWEST = {"make": 40, "scripts": 15}


def code_of(text):
    """The code of a page: what is indented or fenced, line by line, and what stands in backquotes."""
    fenced = re.findall(r"^(?:```|~~~).*?\n(.*?)^(?:```|~~~)$", text, re.M | re.S)
    lines = [line for block in fenced for line in block.splitlines()]
    return lines + re.findall(r"^ {4,}(.*)$", text, re.M) + re.findall(r"`([^`\n]+)`", text)


def targets_of(makefile):
    """The targets of a Makefile, and what make help says of each."""
    found = dict(re.findall(r"^([a-z][a-z-]*):(?!=)[^#\n=]*(?:## (.*))?$", makefile, re.M))
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.M).group(1).split()
    return found, set(phony)


def places(table):
    """The paths in the first column of a table."""
    return {path.rstrip("/") for row in re.findall(r"^\| (`[^|]*) \|", table, re.M) for path in re.findall(r"`([^`]+)`", row)}


def main():
    root = pathlib.Path(sys.argv[1])
    targets, phony = targets_of((root / "Makefile").read_text())
    wrong = [f"Makefile: {name} is not in .PHONY" for name in sorted(set(targets) - phony)]
    wrong += [f"Makefile: .PHONY has {name}, which is not there" for name in sorted(phony - set(targets))]
    wrong += [f"Makefile: make help does not tell of {name}" for name in sorted(targets) if not targets[name] and name != "configure"]
    count = dict.fromkeys(FEWEST, 0)
    for page in PAGES + sorted(str(path.relative_to(root)) for path in (root / "docs").rglob("*.md")):
        for code in code_of((root / page).read_text()):
            for name in re.findall(r"(?:^|[;&] *|\$ )(?:\w+=\S+ +)*make +([a-z][a-z-]*)(?![\w./=])", code):
                count["make"] += 1
                if name not in targets:
                    wrong.append(f"{page}: no target {name}: {code}")
            for name in re.findall(r"(?<![\w/])scripts/([\w.-]*\w)", code):
                count["scripts"] += 1
                if not (root / "scripts" / name).is_file():
                    wrong.append(f"{page}: no scripts/{name}")
    table = (root / "docs/hacking.md").read_text()
    row = re.search(r"^\| `scripts/` \|(.*)\|$", table, re.M).group(1)
    for script in sorted((root / "scripts").iterdir()):
        if script.is_file() and f"`{script.name}`" not in row:
            wrong.append(f"docs/hacking.md: its row of scripts/ lacks {script.name}")
    told = places(table)
    layers = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    for path in sorted(told):
        if "<layer>" not in path and not (root / path).exists():
            wrong.append(f"docs/hacking.md: no {path}")
    for folder in sorted(path for top in ("src", "tests", "bench", "tools") for path in (root / top).iterdir() if path.is_dir()):
        name = str(folder.relative_to(root))
        by_layer = f"{folder.parent.name}/<layer>" in told and folder.name in layers
        if name not in told and not by_layer and not any(path.startswith(name + "/") for path in told):
            wrong.append(f"docs/hacking.md does not tell of {name}")
    wrong += [f"only {number} names after '{kind}' found" for kind, number in count.items() if number < FEWEST[kind]]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(targets)} targets, {count['make']} names of them, {count['scripts']} of scripts, {len(told)} places")


main()
