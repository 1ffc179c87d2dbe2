"""An agent in Python: looks ahead once it has seen a while of the run, and says so.

torchrun --nproc-per-node 2 examples/python/own_agent.py PARTS
"""

import sys

import rudder


class LookAhead:
    """Takes policy 'window' after the first steps."""

    def __init__(self, after):
        self.after = after

    def decide(self, seen):
        if seen["step"] < self.after or seen["knobs"]["policy"].startswith("window"):
            return None
        return {"policy": "window:16"}


def main(path):
    rudder.register_agent("look-ahead", LookAhead, after=20)
    run = rudder.train(path, policy="lru", agent="look-ahead,after:10", epochs=3)
    if run.summary is not None:
        rows, agent = run.summary["rows"], run.summary["agent"]
        print(f"{rows['needed']} rows needed, {rows['hit']} found; {agent['decisions']} decisions, {agent['applied']} applied")


if __name__ == "__main__":
    main(sys.argv[1])
