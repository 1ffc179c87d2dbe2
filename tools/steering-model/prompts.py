"""The layout of prompts and replies, as src/steer/llm/prompt.cpp writes them; a test holds the two together."""
import dataclasses
import json

TASK = """\
You steer the feature buffer of one machine in a distributed training of a graph neural network.
Each step needs feature rows of remote vertices. Rows in the buffer are hits; the others are fetched
over the network. A policy decides which rows stay. Your action changes the policy or its numbers, or
keeps them. It never changes what is learned, only what is fetched and how long steps wait.
"""

FORM = """\
Reply with one JSON object and nothing else:
  {"action": "keep"}  nothing changes. Best where nothing clearly better is known.
  {"action": "replace", "fraction": F}  replace up to this share of the buffer now. Only where the
      policy waits to be told. It fetches rows at once and pays back over later steps.
  {"action": "set", "knobs": {"window": 32}}  set one knob or several.
Optional keys: "reason", one of the codes of the schema; "expected_impact", an object with "hit_rate"
and "rows" (fetched per step), each "increase", "decrease" or "stagnant".
Judge by measured effects: a change pays only if the rows or seconds it saves over the steps left
exceed what it costs. Change little at a time, then look at what it did.
"""

COSTS = {
    "rows": "Cost: rows fetched per step (demand + replacement + ahead). Lower is better.",
    "seconds": "Cost: seconds per step that training waits for rows (stall). Lower is better; "
    "rows that are fetched while training computes cost nothing.",
}

HEADING = "Your past decisions, oldest first:\n"
EFFECTS = "Known effects on rows per step:\n"
QUESTION = "What is your action?"


@dataclasses.dataclass(frozen=True)
class Knob:
    name: str
    sentence: str
    cost: str
    range: str = ""         # "1 to 64"; of the policy: how one is written
    fallback: float = 0     # where a setting need not name it
    of_policy: bool = False  # a parameter of policies: only some have it
    real: bool = False


# The order and the words of src/steer/knobs.cpp.
KNOBS = [
    Knob("policy", "Which rows stay, which leave and which are fetched.",
         "the new policy keeps the rows that are there and starts without a memory of its own",
         "a policy, such as window:16"),
    Knob("window", "Steps that the policy looks ahead.",
         "memory for samples drawn ahead; a longer one has to be drawn first", "1 to 1000000", 16, True),
    Knob("capacity", "Rows that the buffer may hold, within the configured bytes.",
         "rows that no longer fit are fetched again", "0 to 4294967295"),
    Knob("decay", "Factor by which the count of a use decays per step.", "nothing at once", "0 to 1", 0.99,
         True, True),
    Knob("fraction", "Share of the buffer that one replacement may change, at most.", "nothing at once",
         "0 to 1", 1, True, True),
    Knob("distance", "How many steps early rows are fetched, at most.", "nothing at once", "0 to 1000", 2,
         True),
    Knob("bulk", "Rows per message, at most; 0: as many as take 256 KiB.", "nothing at once",
         "0 to 4294967295"),
    Knob("sample_threads", "Threads that draw samples.", "cores that others would have used", "1 to 64", 1),
    Knob("fetch_threads", "Threads that assemble and fetch.", "cores that others would have used", "1 to 64",
         1),
    Knob("demand_first", "Whether rows that a step waits for pass rows fetched ahead; 0: in the order asked for.",
         "nothing at once", "0 to 1", 1),
    Knob("in_flight", "Steps that are assembled at a time, the one being computed included.",
         "memory of their rows; with fewer, computing may wait", "1 to 1024", 2),
    Knob("buckets", "Groups in which gradients are reduced while backward runs; 0: as the link allows.",
         "nothing at once; more groups are more messages", "0 to 6"),
]
POLICY, CAPACITY, BULK = 0, 2, 6  # places in the list


@dataclasses.dataclass(frozen=True)
class Setting:
    """The value of each knob, in their order; None where the policy has no such parameter."""
    values: tuple

    def with_value(self, knob, value):
        return Setting(self.values[:knob] + (value,) + self.values[knob + 1 :])


@dataclasses.dataclass(frozen=True)
class Facts:
    steps: int
    steps_per_epoch: int
    slots: int
    start: Setting
    built_in: str
    knobs: tuple = tuple(KNOBS)
    cost: str = "rows"
    about: str = ""


@dataclasses.dataclass(frozen=True)
class Window:
    """Rows of some steps, each per step."""
    hit_rate: float
    rows: float
    needed: float = 0
    demand: float = 0
    replacement: float = 0
    ahead: float = 0
    wasted: float = 0


@dataclasses.dataclass(frozen=True)
class Past:
    step: int
    action: dict
    status: str
    before: Window
    after: Window
    correct: bool | None = None


@dataclasses.dataclass(frozen=True)
class Observation:
    step: int
    window_steps: int
    last: Window
    total: Window
    twin: Window
    built_in: Window
    row_bytes: int
    halo: int
    candidates: int
    since_change: int
    setting: Setting
    takes_decisions: bool
    seconds: tuple = ()  # per step: step, fetch, stall, compute
    history: tuple = ()
    shadows: tuple = ()  # (policy, Window) of each policy that ran beside the run on the sample


def number(value):
    """As C++'s fmt writes a double with {}."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))


def change_text(knobs, changes):
    parts = []
    for knob in knobs:
        if knob.name not in changes:
            continue
        value = changes[knob.name]
        if isinstance(value, str):
            parts.append(f"{knob.name} {value}")
        elif not knob.real and float(value).is_integer():
            parts.append(f"{knob.name} {int(value):,}")
        else:
            parts.append(f"{knob.name} {number(value)}")
    return ", ".join(parts)


def action_text(knobs, action):
    if action["action"] == "keep":
        return "keep"
    if action["action"] == "replace":
        return f"replace {number(action['fraction'])}"
    return "set " + change_text(knobs, action["knobs"])


def setting_text(knobs, setting):
    text = f"{setting.values[POLICY]}, capacity {setting.values[CAPACITY]:,}"
    for knob, value in list(zip(knobs, setting.values))[BULK:]:
        if value != knob.fallback:
            text += ", " + change_text(knobs, {knob.name: value})
    return text


def system_message(facts):
    text = TASK
    text += (f"\nThe run: {facts.steps} steps, {facts.steps_per_epoch} per epoch; buffer of up to {facts.slots} rows; "
             f"it began with {setting_text(facts.knobs, facts.start)}; built-in rule: {facts.built_in}.\n")
    if facts.about:
        text += facts.about + "\n"
    text += COSTS[facts.cost] + "\n\nKnobs (name: range. What it sets. Cost of a change):\n"
    for knob in facts.knobs:
        text += f"  {knob.name}: {knob.range}. {knob.sentence} Costs {knob.cost}.\n"
    text += "A knob that is not shown under 'setting' does nothing with the present policy.\n\n"
    return text + FORM


def history_line(facts, past):
    verdict = {None: "", True: "; no worse than the alternative", False: "; worse than the alternative"}
    return (f"step {past.step}: {action_text(facts.knobs, past.action)} ({past.status}): "
            f"hit_rate {past.before.hit_rate:.4f} to {past.after.hit_rate:.4f}, "
            f"rows_per_step {past.before.rows:.1f} to {past.after.rows:.1f}{verdict[past.correct]}\n")


def _shadow_line(name, setting, window):
    return f"{name} ({setting}): rows_per_step {window.rows:.1f}, hit_rate {window.hit_rate:.4f}\n"


def observation_text(facts, o):
    last = o.last
    text = f"step: {o.step} of {facts.steps}, {max(0, facts.steps - o.step)} left\n"
    text += (f"last {o.window_steps} steps: hit_rate {last.hit_rate:.4f}, needed_per_step {last.needed:.1f}, "
             f"rows_per_step {last.rows:.1f} (demand {last.demand:.1f}, replacement {last.replacement:.1f}, "
             f"ahead {last.ahead:.1f}, wasted {last.wasted:.1f})\n")
    text += f"all steps: hit_rate {o.total.hit_rate:.4f}, rows_per_step {o.total.rows:.1f}\n"
    if o.seconds:
        text += ("seconds_per_step: step {:.5f}, fetch {:.5f}, stall {:.5f}, compute {:.5f}\n"
                 .format(*o.seconds))
    cost = last.rows if facts.cost == "rows" else o.seconds[2] if o.seconds else 0
    text += f"cost_per_step: {cost:.5g} {facts.cost}\n"
    text += (f"row_bytes: {o.row_bytes}, halo_rows: {o.halo}, candidates: {o.candidates}, "
             f"steps_since_change: {o.since_change}\n")
    text += _shadow_line("this setting on a sample", setting_text(facts.knobs, o.setting), o.twin)
    rule = o.setting.with_value(POLICY, facts.built_in)
    text += _shadow_line("built-in rule on the same sample", setting_text(facts.knobs, rule), o.built_in)
    text += "setting:"
    for knob, value in zip(facts.knobs, o.setting.values):
        if value is not None:
            text += f" {knob.name} {value if isinstance(value, str) else number(value)};"
    text += ("\nthe policy replaces when told to\n" if o.takes_decisions
             else "\nthe policy replaces by itself; 'replace' is not possible\n")
    return text


def against(value, base):
    """Per cent, padded: the sign always, two digits and one more, at most 99.9."""
    share = value / base - 1 if base > 0 else 0 if value == 0 else 1
    return f"{min(99.9, max(-99.9, 100 * share)):+05.1f} %"


def known_effects(facts, o):
    """Replies whose effect is known, oldest first, with rows per step and what those are to be compared with."""
    known = {}

    def tell(action, rows, base):
        known.pop(reply_text(action), None)
        known[reply_text(action)] = (rows, base)

    now = {knob.name: value for knob, value in zip(facts.knobs, o.setting.values)}
    for past in o.history:
        if past.status != "applied":
            continue
        if past.action["action"] == "replace" and o.takes_decisions:
            tell(past.action, past.after.rows, past.before.rows)
        if past.action["action"] == "set" and any(now[k] != v for k, v in past.action["knobs"].items()):
            tell(past.action, past.after.rows, o.last.rows)
    for policy, window in o.shadows + ((facts.built_in, o.built_in),):
        if policy != now["policy"]:
            tell({"action": "set", "knobs": {"policy": policy}}, window.rows, o.twin.rows)
    return known


def effects_text(facts, o):
    lines = [f"{against(rows, base)} {reply}\n" for reply, (rows, base) in known_effects(facts, o).items()]
    return EFFECTS + "".join(lines) if lines else ""


def user_message(facts, o):
    text = HEADING if o.history else ""
    for past in o.history:
        text += history_line(facts, past)
    return text + "Now:\n" + observation_text(facts, o) + effects_text(facts, o) + QUESTION


def short_message(facts, o):
    """Its last lines alone: what is known, and the question."""
    return effects_text(facts, o) + QUESTION


def reply_text(action):
    """The compact reply, keys in the order of the schema."""
    order = ("action", "fraction", "knobs", "reason", "expected_impact")
    unknown = set(action) - set(order)
    if unknown or "action" not in action:
        raise ValueError(f"invalid action: {action}; its keys are {', '.join(order)}")
    return json.dumps({key: _plain(action[key]) for key in order if key in action}, separators=(",", ":"),
                      ensure_ascii=False)


def _plain(value):
    """Whole numbers without a point, as the program reads and writes them."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
