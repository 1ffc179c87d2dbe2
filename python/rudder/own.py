"""Agents and policies written in Python."""

import copy
import json
import threading
import traceback

from . import _rudder
from ._errors import Error


class Answer:
    """What an agent answers where a word or knobs do not say it all.

    ``action``
        None or ``'keep'``; ``'replace'``; or knobs by their names, such as ``{'policy': 'window:16', 'capacity': 1200}``.
    ``shadows``
        Orders to buffers that run beside the real one on ids alone, dictionaries with ``order`` (``'open'``,
        ``'copy'``, ``'set'``, ``'replace'``, ``'close'``), ``name``, and ``knobs``; what they fetch is in the next
        observations.
    ``note``
        A line for the log.
    """

    def __init__(self, action=None, shadows=(), note=""):
        self.action = action
        self.shadows = list(shadows)
        self.note = note


_classes = {}
_objects = {}
_last = 0
_thread = None


def _number(thing):
    """A handle of its own."""
    global _last
    _last += 1
    _objects[_last] = thing
    return _last


def _action(said):
    if said is None or said == "keep":
        return {"action": "keep"}
    if said == "replace":
        return {"action": "replace"}
    if isinstance(said, dict):
        return said if "action" in said else {"action": "set", "knobs": said}
    raise TypeError(f"an agent answers None, 'keep', 'replace' or knobs, not {said!r}")


def _decide(agent, question):
    decide = agent.decide if hasattr(agent, "decide") else agent
    said = decide(json.loads(question["text"]))
    answer = said if isinstance(said, Answer) else Answer(said)
    return json.dumps({"action": _action(answer.action), "shadows": answer.shadows, "note": answer.note})


def _make_agent(question):
    facts = json.loads(question["text"])
    made = _classes["agent", question["name"]](**facts.pop("parameters"))
    if hasattr(made, "begin"):
        made.begin(facts)
    return _number(made)


def _make_policy(question):
    import numpy

    facts = json.loads(question["text"])
    made = _classes["policy", question["name"]](**facts.pop("parameters"))
    if hasattr(made, "begin"):
        made.begin(dict(facts, degree=numpy.array(facts["degree"], dtype=numpy.int64)))
    return _number(made)


def _advance(policy, question):
    import numpy

    arrays = (numpy.asarray(question[name]) for name in ("rows", "missed", "held"))
    advance = policy.advance if hasattr(policy, "advance") else policy
    wanted = advance(question["step"], *arrays, question["capacity"])
    return numpy.ascontiguousarray(wanted, dtype=numpy.int64).reshape(-1)


def _answer(question):
    kind, number = question["kind"], question["number"]
    asked = _objects.get(question["handle"])
    if kind == "make_agent":
        _rudder.answer_number(number, _make_agent(question))
    elif kind == "make_policy":
        _rudder.answer_number(number, _make_policy(question))
    elif kind == "copy":
        _rudder.answer_number(number, _number(copy.deepcopy(asked)))
    elif kind == "decide":
        _rudder.answer_text(number, _decide(asked, question))
    elif kind == "learned":
        _rudder.answer_text(number, str(asked.learned()) if hasattr(asked, "learned") else "")
    elif kind == "advance":
        _rudder.answer_ids(number, _advance(asked, question))
    else:
        _objects.pop(question["handle"], None)


def _serve():
    """Answers questions until there are no more. An exception goes to whoever asked."""
    while (question := _rudder.next_question()) is not None:
        try:
            _answer(question)
        except BaseException as error:  # whoever asked waits
            where = traceback.extract_tb(error.__traceback__)[-1]
            problem = f"{type(error).__name__}: {error} ({where.filename}, line {where.lineno})"
            _rudder.answer_problem(question["number"], problem)


def join_answers():
    """Waits for the thread that answers; nobody asks any more."""
    if _thread is not None:
        _thread.join()


def _check(kind, name, thing, parameters):
    if not callable(thing):
        raise Error(f"invalid {kind}: {thing!r}", "usage", name, "give a class, or a function that makes one")
    for key, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Error(f"invalid parameter: {key}={value!r}", "usage", name, "give numbers")


def _keep(kind, name, thing):
    _classes[kind, name] = thing
    global _thread
    if _thread is None:
        _thread = threading.Thread(target=_serve, name="rudder answers", daemon=True)
        _thread.start()


def _sentence(thing):
    return ((thing.__doc__ or "").strip().splitlines() or ["Written in Python."])[0]


def register_agent(name, agent, *, interval=1, decides=False, **parameters):
    """Makes an agent known: ``agent='NAME'`` or ``agent='NAME,KEY:VALUE'``, in loaders, training and replays.

    ``agent`` is a class, or a function that makes an object: called with the parameters as keywords, once for each
    buffer. ``decide(observation)`` of what it makes is asked every ``interval`` steps, with a dictionary as
    docs/agents.md has it, and answers None (keep), ``'replace'``, knobs, or an ``Answer``. It may have
    ``begin(facts)`` and ``learned()``. ``decides`` says that it tells policies when to replace. ``parameters`` are numbers
    with their defaults.

    Training never waits for it. What it raises counts as a failure, and after three the built-in rule goes on. To be
    called on every rank, before loaders are made.
    """
    _check("agent", name, agent, parameters)
    _rudder.register_agent(name, _sentence(agent), parameters, interval, decides)
    _keep("agent", name, agent)


def register_policy(name, policy, **parameters):
    """Makes a policy known: ``policy='NAME'`` or ``policy='NAME,KEY:VALUE'``, in loaders, training and replays.

    ``policy`` is a class, or a function that makes an object: called with the parameters as keywords. In each step
    ``advance(step, rows, missed, held, capacity)`` of what it makes is called with arrays of row numbers: those that the
    step needs, those of them that the buffer lacks, and those it holds. It answers the rows to hold from then on, at most
    ``capacity``: those of ``missed`` are there for free, others that are not held are fetched. It may have
    ``begin(facts)``: ``slots``, ``halo``, ``steps``, and the ``degree`` of each row of the halo. Copies, which run beside it,
    are made by ``copy.deepcopy``.

    Each step waits for it: an exception ends the run. To be called on every rank, before loaders are made.
    """
    _check("policy", name, policy, parameters)
    _rudder.register_policy(name, _sentence(policy), parameters)
    _keep("policy", name, policy)
