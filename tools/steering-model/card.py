"""The model card: what the model was made of, what it scores, and what it cannot do."""
import dataclasses


def config_words(config):
    """The config as it stands in the model file."""
    return dataclasses.asdict(config)


def _shares(title, shares):
    lines = [f"### {title}", "", "| kind | worlds | chosen | written | chance |", "| --- | ---: | ---: | ---: | ---: |"]
    for kind in sorted(shares, key=lambda k: (k != "all", k)):
        s = shares[kind]
        lines.append(f"| {kind} | {s['worlds']} | {s['chosen']:.3f} | {s['written']:.3f} | {s['chance']:.3f} |")
    return "\n".join(lines) + "\n"


def _decisions(title, score):
    if score is None:
        return f"### {title}\n\nNone were given.\n"
    lines = [f"### {title}", ""] + [f"- {key}: {value:.4g}" for key, value in score.items() if value is not None]
    return "\n".join(lines) + "\n"


def _held_out(options):
    if options["hold_out_one_of"]:
        return f"one graph of {options['hold_out_one_of']}, by the checksum of its name"
    return ", ".join(options["held_out"]) or "no graph"


LIMITS = """## Limits

- It reads prompts of Rudder and nothing else; other text gives nonsense.
- It was shown the layout of this version of `src/steer/llm/prompt.cpp`. After a change there it must be trained anew.
- In made-up worlds cost is rows, one thing is tried at a time, and enough steps are left for any change to pay.
- What it says is one action among those the text tells about; it tries nothing that has not been tried.
- Replies hold no reason and no forecast.
- The guard of the run bounds what it can cost, as with every agent.
"""


def text(record):
    options, scores = record["options"], record["scores"]
    return "\n".join([
        "# Steering model", "",
        f"A language model of {record['parameters']} parameters (size {options['size']}) that answers Rudder's steering "
        "prompts.", "",
        "## Data", "",
        f"- Made-up worlds (`worlds.py`), seed {options['seed']}, up to {options['most_lines']} lines of history; their "
        "names appear in no test.",
        f"- Collected decisions: {record['decisions']} "
        f"(held out: {_held_out(options)}).",
        f"- {record['steps']} steps: {options['short']} of {options['short_batch']} short prompts, then "
        f"{record['steps'] - options['short']} of {options['batch']} whole ones; {options['threads']} threads, {options['device']}; "
        f"loss at the end {record['course'][-1]['loss'] if record['course'] else 'not known'}.",
        "",
        "## Scores", "",
        "`chosen`: the best action is the likeliest of those the text tells about; `written`: the reply is the best one, "
        "word by word; `chance`: of choosing blindly.", "",
        _shares("Unseen names", scores["unseen names"]),
        _shares("Unseen names, history left out of the prompt", scores["unseen names, without history"]),
        _decisions("Collected decisions of graphs it learned from", scores["known graphs"]),
        _decisions("Collected decisions of graphs held out", scores["held-out graphs"]),
        _decisions("The same, with the names of policies changed about", scores["held-out graphs, names changed about"]),
        LIMITS])
