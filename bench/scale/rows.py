"""Rows of the benchmark's table: one thing measured, its plain loop, its ratios."""
import dataclasses
import statistics


@dataclasses.dataclass
class Row:
    name: str
    figure: str = ""                 # for people: "29.1 ns per edge, 34.4 M edges/s"
    plain: str = ""                  # the same of the plain loop
    ratios: dict = dataclasses.field(default_factory=dict)  # over what: value; the lower the better
    spread: float | None = None      # largest over least of a ratio's rounds
    cpu: float | None = None         # seconds
    instructions: int | None = None
    values: dict = dataclasses.field(default_factory=dict)  # for programs
    skipped: str = ""                # why there is no figure
    failed: bool = False             # skipped for a fault, not for want of memory or disk

    @staticmethod
    def from_json(value):
        return Row(**value)

    def to_json(self):
        return dataclasses.asdict(self)


def median(values):
    return statistics.median(values)


def spread(values):
    return max(values) / min(values) if values and min(values) > 0 else None
