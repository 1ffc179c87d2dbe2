"""The benchmark's table, and what changed since the record of the same kind of machine."""
import json
import os

WORSE = 1.20  # a ratio that grew by more is told of
PASSING = ("the other build", "its CPU")  # ratios of --beside, which no record keeps


def cells(row, recorded):
    if row.skipped:
        return [row.name, ("FAILED: " if row.failed else "skipped: ") + row.skipped, "", "", "", "", ""]
    ratios = "; ".join(f"{value:.2f} of {over}" for over, value in row.ratios.items())
    before = "; ".join(f"{recorded['ratios'][key]:.2f}" for key in keys(row) if key in recorded["ratios"])
    return [row.name, row.figure, row.plain, ratios, before, "" if row.cpu is None else f"{row.cpu:.2f}",
            "" if row.instructions is None else f"{row.instructions / 1e9:.2f}"]


def keys(row):
    return [f"{row.name} / {over}" for over in row.ratios]


def table(rows, recorded):
    head = ["what", "figure", "plain loop", "ratio", "recorded", "CPU s", "10^9 instr."]
    lines = [head] + [cells(row, recorded or {"ratios": {}}) for row in rows]
    told = [lines[0]] + [line for row, line in zip(rows, lines[1:]) if not row.skipped]
    widths = [max(len(line[i]) for line in (lines if i == 0 else told)) for i in range(len(head))]
    text = []
    for number, line in enumerate(lines):
        text.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if number == 0:
            text.append("  ".join("-" * width for width in widths))
    return "\n".join(text)


def record_of(result):
    """What is kept of a run to hold later ones against."""
    rows = [row for row in result["rows"] if not row["skipped"]]
    return {"schema": 1, "kind": result["kind"], "date": result["date"], "version": result["version"],
            "machine": result["machine"], "rounds": result["rounds"],
            "figures": {row["name"]: row["figure"] for row in rows},
            "ratios": {f"{row['name']} / {over}": value for row in rows for over, value in row["ratios"].items()
                       if over not in PASSING},
            "spread": {row["name"]: row["spread"] for row in rows if row["spread"]},
            "instructions": {row["name"]: row["instructions"] for row in rows if row["instructions"]}}


def path_of(folder, kind):
    return os.path.join(folder, f"{kind}.json")


def read(folder, kind):
    try:
        with open(path_of(folder, kind)) as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def write(folder, result):
    os.makedirs(folder, exist_ok=True)
    path = path_of(folder, result["kind"])
    with open(path, "w") as file:
        json.dump(record_of(result), file, indent=1)
        file.write("\n")
    return path


def compare(rows, recorded):
    """A line for each ratio that got worse; where its rounds disagree and instructions were counted both
    times, those decide."""
    worse, noisy, held = [], [], 0
    for row in rows:
        for over, value in row.ratios.items():
            before = recorded["ratios"].get(f"{row.name} / {over}")
            if before is None or before <= 0:
                continue
            held += 1
            if value <= before * WORSE:
                continue
            counted = recorded["instructions"].get(row.name)
            spread = max(row.spread or 1, recorded["spread"].get(row.name) or 1)
            line = f"{row.name}: {value:.2f} of {over}, recorded {before:.2f} ({value / before:.2f} times)"
            if spread > WORSE and counted and row.instructions:
                if row.instructions <= counted * WORSE:
                    noisy.append(line + f"; rounds spread {spread:.2f}, instructions "
                                        f"{row.instructions / counted:.2f} times: noise")
                    continue
                line += f"; instructions {row.instructions / counted:.2f} times"
            elif spread > WORSE:
                line += f"; rounds spread {spread:.2f}"
            worse.append(line)
        counted = recorded["instructions"].get(row.name)
        if counted and row.instructions:
            held += 1
            if row.instructions > counted * WORSE and not any(line.startswith(row.name + ":") for line in worse):
                worse.append(f"{row.name}: instructions {row.instructions / counted:.2f} times the recorded")
    return held, worse, noisy


def verdict(rows, recorded):
    """The lines below the table."""
    if recorded is None:
        return ["No record of this kind of machine and size yet: RECORD=1 writes one."]
    held, worse, noisy = compare(rows, recorded)
    lines = [f"Held against the record of {recorded['date']} ({recorded['version']}): {held} figures."]
    lines += [f"  noisy: {line}" for line in noisy]
    if not worse:
        return lines + ["None got worse by over 20 %."]
    return lines + [f"Worse by over 20 %: {len(worse)}"] + [f"  {line}" for line in worse]
