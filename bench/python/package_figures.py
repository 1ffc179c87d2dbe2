"""What the package itself costs: importing, installing, its wheel, and its share of a batch.

python3 bench/python/package_figures.py [PARTS] [--only import,overhead,wheel,install] [--runs 20]

The interpreter that runs it has to have the package; `wheel` and `install` build the tree it lies in, with the compiler's cache as
it is, so that CCACHE_DISABLE=1 is what a machine that never built it needs. A figure that was asked for is a line of a table.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv

here = os.path.dirname(os.path.abspath(__file__))
tree = os.path.dirname(os.path.dirname(here))
kinds = ("import", "overhead", "wheel", "install")


def seconds_of(*command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def importing(options):
    """Beside an interpreter that imports nothing, in turns."""
    both = [(seconds_of(sys.executable, "-c", "import rudder"), seconds_of(sys.executable, "-c", "pass"))
            for _ in range(options.runs)]
    yield "import rudder", f"{statistics.median(with_it - bare for with_it, bare in both):.3f} s", "0.2 s"


def overhead(options):
    if not options.parts:
        raise SystemExit("overhead needs PARTS")
    for output in ("numpy", "torch", "pyg"):
        done = subprocess.run([sys.executable, os.path.join(here, "overhead.py"), options.parts, "--output", output, "--batch",
                               str(options.batch)], capture_output=True, text=True)
        told = done.stdout.strip() if done.returncode == 0 else f"{output}: {done.stderr.strip().splitlines()[-1]}"
        yield f"Python per batch, {output}", told.split(": ", 1)[1], "200 us"


def wheel(options):
    with tempfile.TemporaryDirectory() as folder:
        seconds = seconds_of(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, tree)
        name, = os.listdir(folder)
        size = os.path.getsize(os.path.join(folder, name))
    yield f"{name}, built in {seconds:.0f} s", f"{size / 1e6:.2f} MB", "15 MB"


def install(options):
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = os.path.join(folder, "bin", "python")
        yield "pip install .", f"{seconds_of(python, '-m', 'pip', 'install', '-q', tree):.0f} s", "360 s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="?", default="")
    parser.add_argument("--only", default="", help="joined by commas: " + ", ".join(kinds))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    asked = options.only.split(",") if options.only else [kind for kind in kinds if options.parts or kind != "overhead"]
    if not set(asked) <= set(kinds):
        parser.error(f"--only takes {', '.join(kinds)}")
    print("| what | figure | asked |\n| --- | ---: | ---: |", flush=True)
    for kind in asked:
        measure = {"import": importing, "overhead": overhead, "wheel": wheel, "install": install}[kind]
        for what, figure, most in measure(options):
            print(f"| {what} | {figure} | {most} |", flush=True)


if __name__ == "__main__":
    main()
