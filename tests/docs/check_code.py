"""Code shown in pages is the code that is compiled and run.

    check_code.py ROOT

A block that shows a file, or a stretch of its lines, has a comment before it that names the file:
<!-- file: examples/worked/policy/twice.cpp -->
"""
import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1])
    wrong, count = [], 0
    for page in sorted([*root.glob("*.md"), *(root / "docs").glob("*.md"), *(root / "examples").rglob("*.md")]):
        for name, block in re.findall(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", page.read_text(), re.M | re.S):
            count += 1
            file = root / name
            if not file.exists():
                wrong.append(f"{page.name}: there is no {name}")
            elif ("\n" + block) not in ("\n" + file.read_text()):
                wrong.append(f"{page.name}: the block of {name} is not what the file says")
    for example in (root / "examples").glob("*.cpp"):
        lines = example.read_text().count("\n")
        if lines >= 60:
            wrong.append(f"{example.name} has {lines} lines; an example has fewer than 60")
    if wrong or count == 0:
        sys.exit("\n".join(wrong) or "no block names a file")
    print(f"{count} blocks")


main()
