"""README says in its first lines what Rudder implements, that it is an independent implementation, what it adds and what it does
not do; CITATION.cff has the fields of its format, the version of the build, and the paper that README names.

    check_citation.py ROOT [CITATION]
"""
import pathlib
import re
import sys

FIRST_LINES = 25
NEEDED = ("cff-version", "message", "title", "authors", "version", "license", "references")  # the first four by the format


def blocks(text):
    """Keys of the outermost level, and what stands below each."""
    found, key = {}, None
    for line in text.splitlines():
        top = re.match(r"([a-z-]+):(.*)", line)
        if top:
            key = top.group(1)
            if key in found:
                sys.exit(f"CITATION.cff has {key} twice")
            found[key] = top.group(2).strip()
        elif key and line.strip():
            found[key] += "\n" + line
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    cite = blocks(pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else root / "CITATION.cff").read_text())
    first = " ".join((root / "README.md").read_text().splitlines()[:FIRST_LINES])
    wrong = [f"CITATION.cff has no {key}" for key in NEEDED if not cite.get(key)]
    version = re.search(r"^project\(rudder VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text(), re.M).group(1)
    if cite.get("version", "").strip('"') != version:
        wrong.append(f"CITATION.cff is of version {cite.get('version')}, the build of {version}")
    paper = cite.get("references", "")
    title = re.search(r'title: "([^"]+)"', paper)
    number = re.search(r"arXiv:([0-9.]+)", paper)
    names = re.findall(r"family-names: (\S+)", paper)
    if not (title and number and names):
        wrong.append("CITATION.cff names no paper with its title, its number and its authors")
    else:
        for words in (title.group(1), number.group(1), *names):
            if words not in first:
                wrong.append(f"README's first lines lack '{words}', which CITATION.cff has")
    for words in ("What it implements", "independent implementation", "What it adds", "What it does not do", "(CITATION.cff)"):
        if words not in first:
            wrong.append(f"README's first lines lack '{words}'")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"version {version}, {len(names)} authors of the paper, as README has them")


main()
