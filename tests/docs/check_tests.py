"""Every test that docs/reliability.md and SECURITY.md name is there.

    check_tests.py ROOT

Names are those of ctest, in code: `LAYER.SUITE.TEST`, where * or ... stands for what is left out; those of docs, house and
fuzz are named by their CMakeLists.txt, the others by the sources of tests/LAYER.
"""
import fnmatch
import pathlib
import re
import sys

PAGES = ["docs/reliability.md", "SECURITY.md"]
DECLARED = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
INSTANTIATED = re.compile(r"^\s*INSTANTIATE_TEST_SUITE_P\(\s*(\w+)\s*,\s*(\w+)\s*,", re.M)
ADDED = re.compile(r"^\s*rudder_(?:docs_test|house_test|fuzzer)\((\w[\w.]*)", re.M)


def tests_of(folder):
    """The names that ctest has for the tests of a layer; what comes after a test's name with parameters is left out."""
    layer, names = folder.name, set()
    declared, prefixes = [], {}
    for file in sorted(folder.rglob("*.cpp")):
        text = file.read_text()
        declared += DECLARED.findall(text)
        for prefix, suite in INSTANTIATED.findall(text):
            prefixes.setdefault(suite, []).append(prefix)
    for suite, test in declared:
        for prefix in prefixes.get(suite, [""]):
            names.add(f"{layer}.{prefix}{'/' if prefix else ''}{suite}.{test}")
    build = folder / "CMakeLists.txt"
    if build.is_file():
        names |= {f"{layer}.{name}" for name in ADDED.findall(build.read_text())}
    return names


def cited(text, layers):
    """What a page names: code that begins with a layer and goes on with a suite, or with a test of documents or the house."""
    found = []
    for code in re.findall(r"`([^`\n]+)`", text):
        layer, _, rest = code.partition(".")
        if layer in layers and re.fullmatch(r"[\w/.*]+", rest) and (rest[0].isupper() or layer in ("docs", "house", "fuzz")):
            found.append(code)
    return found


def known(name, tests):
    pattern = name.replace("...", "*")
    # A suite alone, "core.LostFile*", is all of its tests.
    return any(fnmatch.fnmatchcase(test, pattern) or fnmatch.fnmatchcase(test, f"{pattern}.*") for test in tests)


def main():
    root = pathlib.Path(sys.argv[1])
    layers = {folder.name for folder in (root / "tests").iterdir() if folder.is_dir()}
    tests = {name for layer in layers for name in tests_of(root / "tests" / layer)}
    if known("comm.NoSuchSuite.*", tests) or not known("docs.tests", tests):
        sys.exit("the check itself finds anything, or nothing")
    wrong, count = [], 0
    for page in PAGES:
        names = cited((root / page).read_text(), layers)
        count += len(names)
        wrong += [f"{page}: {name}" for name in names if not known(name, tests)]
    if count < 40:
        sys.exit(f"only {count} tests found")
    if wrong:
        sys.exit("no such test:\n" + "\n".join(wrong))
    print(f"{count} names of tests")


main()
