"""Every warning of the program says why: what it is about, then the reason.

    check_warnings.py ROOT

A reason follows ": ", "since" or "because", or stands in brackets. Warnings that are put together elsewhere are
followed to the function that words them.
"""
import pathlib
import re
import sys

REASON = re.compile(r"\S: \S|, since | because |\(\{\}\)")

# Texts that a call is given by name: where they are worded.
WORDED = {
    ("src/cli/train_settings.cpp", "advice"): [("src/train/options.cpp", "std::string agent_advice(")],
    ("src/cli/verbs/replay.cpp", "advice"): [("src/train/options.cpp", "std::string agent_advice(")],
    ("src/train/steps/run.cpp", "advice"): [("src/train/options.cpp", "std::string redraw_advice(")],
    ("src/partition/repair.cpp", "warning"): [("src/partition/repair.cpp", "describe_excess(")],
    ("src/steer/helm/helm.cpp", "text"): [("src/steer/helm/guard.cpp", "std::string suspension_text(")],
}
# Those that `info` shows of a run are worded in one place.
ELSEWHERE = [("src/cli/look.cpp", "Json warnings_of(")]
# What was done is itself the reason.
PLAIN = {"interrupted after step {} of {}{}"}


def balanced(text, at, left, right):
    """What stands between the bracket at `at` and its counterpart; brackets in literals do not count."""
    depth, i = 0, at
    while i < len(text):
        c = text[i]
        if c == '"':
            i = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, i).end()
            continue
        depth += {left: 1, right: -1}.get(c, 0)
        if depth == 0:
            return text[at + 1:i]
        i += 1
    sys.exit(f"no end of {text[at:at + 60]!r}")


def literals(code):
    code = re.sub(r'"\s*\n?\s*"', "", code)
    return re.findall(r'"((?:[^"\\]|\\.)*)"', code)


def sentences(code):
    """Literals that are sentences rather than pieces of one: keys, suffixes and units."""
    return [text for text in literals(code) if len(text.split()) > 4 and not text.startswith((" ", ";", ","))]


def body(source, start):
    at = source.find(start)
    if at < 0:
        sys.exit(f"{start!r} is gone: say in this check where its warnings are worded now")
    return balanced(source, source.index("{", source.index(")", at)), "{", "}")


def without_reason(texts):
    return [t for t in texts if not REASON.search(t) and t not in PLAIN]


def main():
    root = pathlib.Path(sys.argv[1])
    if without_reason(["the buffer was made smaller"]) != ["the buffer was made smaller"]:
        sys.exit("the check itself accepts anything")
    sources = {str(f.relative_to(root)): re.sub(r"//.*", "", f.read_text()) for f in sorted((root / "src").rglob("*.cpp"))}
    wrong, checked, used = [], 0, set()

    def check(where, texts):
        nonlocal checked
        if not texts:
            wrong.append(f"{where}: no sentence found")
        checked += len(texts)
        wrong.extend(f"{where}: {t}" for t in without_reason(texts))

    for name, source in sources.items():
        if name == "src/core/log.cpp":
            continue
        for call in re.finditer(r"log::(?:lasting_)?warning\(", source):
            argument = balanced(source, call.end() - 1, "(", ")")
            if literals(argument):
                check(name, [literals(argument)[0]])
                continue
            key = (name, argument.strip())
            if key not in WORDED:
                wrong.append(f"{name}: who words '{argument.strip()}'? Say so in this check")
                continue
            used.add(key)
            for file, function in WORDED[key]:
                check(file, sentences(body(sources[file], function)))
    for file, function in ELSEWHERE:
        check(file, sentences(body(sources[file], function)))
    wrong += [f"no warning is given {key}" for key in WORDED.keys() - used]
    if checked < 25:
        wrong.append(f"only {checked} warnings were found")
    if wrong:
        sys.exit("warnings that do not say why:\n" + "\n".join(wrong))
    print(f"{checked} warnings")


main()
