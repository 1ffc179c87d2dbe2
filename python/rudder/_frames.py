"""Tables of numbers: of pandas where that is installed, else columns by name."""

import json


class Columns(dict):
    """Columns by name, each a list: a table without pandas.

    ``len()`` is the number of columns, ``rows()`` gives the rows as dictionaries, and ``pandas.DataFrame(columns)`` makes
    a data frame of it.
    """

    def rows(self):
        """A dictionary for each row."""
        return [dict(zip(self, row)) for row in zip(*self.values())]


def flat(row, prefix=""):
    """The row without dictionaries inside: ``{'rows': {'hit': 3}}`` becomes ``{'rows.hit': 3}``."""
    made = {}
    for name, value in row.items():
        if isinstance(value, dict):
            made.update(flat(value, f"{prefix}{name}."))
        else:
            made[prefix + name] = value
    return made


def frame(rows):
    """A table of rows, which are dictionaries; what a row lacks is None."""
    rows = [flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = Columns((name, [row.get(name) for row in rows]) for name in names)
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def lines(path):
    """The objects of a file with one on each line; a last line that is being written is left out."""
    made = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                made.append(json.loads(line))
    return made
