"""Runs the shell blocks of a page as a reader would: in order, in one shell, in an empty folder.

    run_blocks.py PAGE PROGRAM_FOLDER

A block is fenced by ```sh. One that cannot be run has a comment before it that says why:
<!-- not run: REASON -->
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def blocks(text):
    """The blocks to run, each with the number of its first line."""
    found, skipped = [], 0
    for match in re.finditer(r"(<!-- not run: [^>]+ -->\n)?```sh\n(.*?)^```$", text, re.M | re.S):
        if match.group(1):
            skipped += 1
        else:
            found.append((text.count("\n", 0, match.start(2)) + 1, match.group(2)))
    return found, skipped


def main():
    page, programs = pathlib.Path(sys.argv[1]), sys.argv[2]
    found, skipped = blocks(page.read_text())
    if not found:
        sys.exit(f"{page} has no block to run")
    script = "set -euo pipefail\n"
    for line, block in found:
        script += f"echo '-- {page.name}:{line}' >&2\n{block}"
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(["bash", "-c", script], cwd=place, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print(done.stdout)
        sys.exit(f"{page.name}: a command ended with {done.returncode}; the last '--' line says where")
    print(f"{page.name}: {len(found)} blocks run, {skipped} marked as not run")


main()
