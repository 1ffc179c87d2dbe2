"""Agents and policies written in Python."""

import collections
import os
import sys
import unittest

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import small_graph  # noqa: E402

import rudder  # noqa: E402

options = {"epochs": 3, "batch": 16, "hidden": 8, "fanout": [3, 4], "seed": 5}
asked = collections.Counter()


class Switch:
    """Takes another policy once, and keeps it."""

    def __init__(self, after):
        self.after = after
        self.facts = None

    def begin(self, facts):
        self.facts = facts

    def decide(self, seen):
        asked["switch"] += 1
        asked["steps of it"] = self.facts["steps"]
        if seen["step"] >= self.after and not seen["knobs"]["policy"].startswith("window"):
            return {"policy": "window:8"}
        return None

    def learned(self):
        return "to look ahead"


class Fails:
    """Cannot decide."""

    def decide(self, seen):
        raise RuntimeError("no idea")


class Last:
    """Holds the rows that were needed last."""

    def __init__(self, share):
        self.share = share
        self.used = []
        self.step = -1

    def advance(self, step, rows, missed, held, capacity):
        asked["last"] += 1
        assert step > self.step, "each copy sees each step once"
        self.step = step
        assert set(missed) <= set(rows) and not set(missed) & set(held)
        self.used = [row for row in self.used if row not in set(rows)] + rows.tolist()
        kept = [row for row in self.used if row in set(held) | set(missed)]
        return numpy.array(kept[-int(capacity * self.share):] if capacity else [])


class Greedy:
    """Holds more than there is room for."""

    def advance(self, step, rows, missed, held, capacity):
        return numpy.arange(capacity + 1)


rudder.register_agent("switch", Switch, after=8)
rudder.register_agent("fails", Fails, interval=2)
rudder.register_policy("last", Last, share=1.0)
rudder.register_policy("greedy", Greedy)


class OwnTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = small_graph.temporary()
        cls.parts = small_graph.make(cls.folder.name)
        cls.traced = os.path.join(cls.folder.name, "traced")
        script = """
import sys, rudder
rudder.train(sys.argv[1], out=sys.argv[2], trace=True, epochs=3, batch=16, hidden=8, fanout=[3, 4], seed=5)
"""
        port = small_graph.free_port()
        ranks = [small_graph.start(script, cls.parts, cls.traced, rank=rank, size=2, port=port, RUDDER_RANKS_PER_HOST="1")
                 for rank in range(2)]
        for rank in ranks:
            code, _, err = small_graph.finish(rank)
            assert code == 0, err

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_an_agent_steers_a_replay(self):
        alone = rudder.replay(self.traced, policies="lru", buffers=0.3)
        steered = rudder.replay(self.traced, policies="lru", buffers=0.3, agents="switch,after:8")
        self.assertLess(list(steered["demand"])[0], list(alone["demand"])[0])
        self.assertGreater(asked["switch"], 0)
        self.assertGreater(asked["steps of it"], 0)

    def test_parameters_are_told(self):
        late = rudder.replay(self.traced, policies="lru", buffers=0.3, agents=["switch,after:8", "switch,after:100000"])
        demand = list(late["demand"])
        self.assertLess(demand[0], demand[1])

    def test_a_policy_is_as_good_as_the_same_one(self):
        table = rudder.replay(self.traced, policies=["none", "last", "last,share:0.5", "lru"], buffers=0.3)
        demand = list(table["demand"])
        self.assertGreater(demand[0], demand[2])
        self.assertGreater(demand[2], demand[1])
        self.assertLess(abs(demand[1] - demand[3]), 0.1 * demand[3])
        self.assertGreater(asked["last"], 0)

    def test_copies_go_on_by_themselves(self):
        # What an agent changes is tried on a copy beside the buffer, which goes on as it was.
        table = rudder.replay(self.traced, policies="last", buffers=0.3, agents=["switch,after:100000", "switch,after:8"])
        demand = list(table["demand"])
        self.assertLess(demand[1], demand[0])

    def test_no_result_depends_on_them(self):
        script = """
import sys, json
sys.path.insert(0, sys.argv[2])
import own_test, rudder
run = rudder.train(sys.argv[1], policy=sys.argv[3], agent=sys.argv[4], buffer=0.3, **own_test.options)
print(json.dumps(run.summary))
loader = rudder.NeighborLoader(sys.argv[1], [3, 2], 16, policy=sys.argv[3], agent=sys.argv[4], output="numpy", epochs=1)
batches = list(loader)
"""
        import json

        digests = set()
        for policy, agent in (("none", "never"), ("last", "never"), ("lru", "switch"), ("lru", "fails")):
            port = small_graph.free_port()
            ranks = [small_graph.start(script, self.parts, os.path.dirname(__file__), policy, agent, rank=rank, size=2,
                                       port=port, RUDDER_RANKS_PER_HOST="1") for rank in range(2)]
            told = [small_graph.finish(rank) for rank in ranks]
            for code, _, err in told:
                self.assertEqual(code, 0, err)
            summary = json.loads(told[0][1])
            digests.add(summary["loss"]["digest"])
            if agent == "fails":
                self.assertGreater(summary["agent"]["invalid"] + summary["agent"]["breaker_openings"], 0, summary["agent"])
        self.assertEqual(len(digests), 1)

    def test_what_a_policy_answers_is_checked(self):
        with self.assertRaises(rudder.Error) as caught:
            rudder.replay(self.traced, policies="greedy", buffers=0.3)
        self.assertIn("greedy", str(caught.exception))
        self.assertIn("capacity", str(caught.exception))

    def test_names(self):
        for name in ("lru", "last", "No Name", ""):
            with self.subTest(name), self.assertRaises(rudder.Error) as caught:
                rudder.register_policy(name, Last)
            self.assertEqual(caught.exception.kind, "usage")
        for name in ("bandit", "switch"):
            with self.subTest(name), self.assertRaises(rudder.Error):
                rudder.register_agent(name, Switch)
        with self.assertRaises(rudder.Error):
            rudder.register_agent("another", Switch, after="soon")


if __name__ == "__main__":
    unittest.main()
