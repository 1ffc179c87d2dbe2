"""What goes wrong, and how this process ends: before or after the other ranks."""

import atexit
import os
import sys

from . import _rudder


class Error(Exception):
    """An error one can act on.

    ``problem`` says what is wrong, ``where`` it was seen (may be empty) and ``remedy`` what to do.
    ``kind`` is ``'usage'``, ``'input'``, ``'rank'`` (another rank died or is missing),
    ``'interrupted'`` or ``'failed'``.
    """

    def __init__(self, problem, kind="usage", where="", remedy=""):
        super().__init__(problem, kind, where, remedy)
        self.problem = problem
        self.kind = kind
        self.where = where
        self.remedy = remedy

    def __str__(self):
        lines = [self.problem]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.remedy:
            lines.append(f"  to do: {self.remedy}")
        return "\n".join(lines)


_rudder.set_error_class(Error)
_process = os.getpid()


def _failure():
    """The exception that ends this process, in one line; empty where none does."""
    value = getattr(sys, "last_value", None)
    if value is None or hasattr(sys, "ps1"):
        return ""
    return f"{type(value).__name__}: {value}"


@atexit.register
def _shut_down():
    """Loaders end with all ranks. A rank that fails tells the others, and waits for nobody."""
    if os.getpid() != _process:
        return
    from .loader import drop_all
    from .own import join_answers

    drop_all()
    code = 1
    try:
        if not _rudder.shut_down(_failure()):
            join_answers()
            return
    except KeyboardInterrupt:
        code = 130
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
