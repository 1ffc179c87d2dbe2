"""The Containerfile without an engine: its instructions are known ones in an order that works, its stages are those that it
copies from, what it copies is there and not ignored, the packages it installs by name are those of scripts/packages.txt, and
scripts, presets and options of the build that it names are there, and copied before they are run.

    check_containerfile.py ROOT [CONTAINERFILE]
"""
import fnmatch
import json
import pathlib
import re
import sys

INSTRUCTIONS = {"FROM", "ARG", "LABEL", "ENV", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "CMD"}
wrong = []


def instructions(text):
    """(number of the line, instruction, rest), with lines that go on joined."""
    found, held, begin = [], "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or (not line.strip() and not held):
            continue
        begin = begin if held else number
        held += line.rstrip("\\").strip() + " "
        if line.endswith("\\"):
            continue
        name, _, rest = held.strip().partition(" ")
        found.append((begin, name, rest.strip()))
        held = ""
    if held:
        wrong.append("the last line goes on")
    return found


def stages(found):
    """Each stage: its name, its base and its instructions."""
    made = []
    for line, name, rest in found:
        if name not in INSTRUCTIONS:
            wrong.append(f"line {line}: unknown instruction {name}")
        if name == "FROM":
            base, _, alias = rest.partition(" AS ")
            made.append({"name": alias.strip(), "base": base.strip(), "has": []})
        elif not made and name != "ARG":
            wrong.append(f"line {line}: {name} comes before the first FROM")
        elif made:
            made[-1]["has"].append((line, name, rest))
    return made


def check_copies(root, made):
    ignored = [line for line in (root / ".containerignore").read_text().split("\n") if line and line[0] != "#"]
    if (root / ".dockerignore").read_text() != (root / ".containerignore").read_text():
        wrong.append(".dockerignore and .containerignore differ")
    for number, stage in enumerate(made):
        earlier = {other["name"] for other in made[:number]}
        for line, name, rest in stage["has"]:
            if name != "COPY":
                continue
            words = rest.split()
            origin = [word[len("--from="):] for word in words if word.startswith("--from=")]
            if origin and origin[0] not in earlier:
                wrong.append(f"line {line}: no stage {origin[0]} before this one")
            for path in [] if origin else words[:-1]:
                if not (root / path).exists():
                    wrong.append(f"line {line}: {path} is not there")
                if any(fnmatch.fnmatch(path, pattern) or path.startswith(pattern + "/") for pattern in ignored):
                    wrong.append(f"line {line}: {path} is ignored")
    for needed in ("docs/topics", "presets", "packaging/debian", "cmake", "src"):
        if any(fnmatch.fnmatch(needed, pattern) for pattern in ignored):
            wrong.append(f".containerignore leaves out {needed}, which the build needs")


def check_packages(root, made):
    listed, groups = {}, set()
    for line in (root / "scripts/packages.txt").read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            listed.setdefault(words[1], set()).add(words[0])
            groups.add(words[0])
    installed = 0
    for stage in made:
        runs = [(line, rest) for _, (line, name, rest) in enumerate(stage["has"]) if name == "RUN"]
        for line, rest in runs:
            for options in re.findall(r"scripts/setup((?: --\w+)*)", rest):
                installed += 1
                for option in options.split():
                    if option[2:] not in groups:
                        wrong.append(f"line {line}: scripts/packages.txt has no group {option[2:]}")
            for command in re.findall(r"apt-get install ([^&|;]*)", rest):
                names = [word for word in command.split() if not word.startswith(("-", "/"))]
                installed += len(names)
                wrong.extend(f"line {line}: scripts/packages.txt does not list {name}" for name in names if name not in listed)
                if "--no-install-recommends" not in command:
                    wrong.append(f"line {line}: apt-get installs what packages recommend")
            if ("apt-get install" in rest or "scripts/setup" in rest) and "/var/lib/apt/lists" not in rest:
                wrong.append(f"line {line}: the lists of apt stay in the image")
    if not installed:
        wrong.append("it installs nothing")


def check_commands(root, made):
    presets = json.loads((root / "CMakePresets.json").read_text())
    options = set()
    for file in [root / "CMakeLists.txt", *(root / "cmake").glob("*.cmake")]:
        options.update(re.findall(r"\b(RUDDER_\w+)", file.read_text()))
    for stage in made:
        copied = set()
        for line, name, rest in stage["has"]:
            if name == "COPY" and "--from=" not in rest:
                copied.update(rest.split()[:-1])
            if name != "RUN":
                continue
            for script in re.findall(r"(?:^|[\s(])(scripts/[\w-]+)", rest):
                if not (root / script).is_file():
                    wrong.append(f"line {line}: {script} is not there")
                elif not copied & {script, ".", "scripts"}:
                    wrong.append(f"line {line}: {script} was not copied")
            for build, preset in re.findall(r"cmake (--build )?--preset (\S+)", rest):
                known = presets["buildPresets" if build else "configurePresets"]
                if preset not in {one["name"] for one in known}:
                    wrong.append(f"line {line}: CMakePresets.json has no preset {preset}")
            wrong.extend(f"line {line}: the build has no option {option}"
                         for option in re.findall(r"-D(RUDDER_\w+)=", rest) if option not in options)


def main():
    root = pathlib.Path(sys.argv[1])
    file = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "Containerfile"
    made = stages(instructions(file.read_text()))
    if len(made) < 2:
        wrong.append("one stage: the image would hold compiler and sources")
    for stage in made:
        if not re.fullmatch(r"(docker\.io/library/)?debian:12(-slim)?", stage["base"]):
            wrong.append(f"base {stage['base']} is not Debian 12")
    check_copies(root, made)
    check_packages(root, made)
    check_commands(root, made)
    last = {name: rest for _, name, rest in made[-1]["has"]} if made else {}
    for name in ("ENTRYPOINT", "CMD"):
        try:
            if not isinstance(json.loads(last.get(name, "")), list):
                raise ValueError
        except ValueError:
            wrong.append(f"{name} of the image is not a list of words")
    if last.get("USER", "root") in ("root", "0"):
        wrong.append("the image runs as root")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(made)} stages, {sum(len(stage['has']) + 1 for stage in made)} instructions")


main()
