"""The driver of steering-model/collect.py: draws, resumes, budgets and failures, with a program that is a script.

    collect_test.py SOURCE
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv[1]
DRIVER = os.path.join(SOURCE, "tools", "steering-model", "collect.py")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(DRIVER))
import collect  # noqa: E402  (after the path is set)

# Does of each verb what the driver relies on; fails to partition where a file says so.
PROGRAM = r'''#!/usr/bin/env python3
import os, struct, sys, zipfile
words = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "calls"), "a") as calls:
    calls.write(" ".join(words) + "\n")
if words[0] == "partition" and os.path.exists(os.path.join(here, "broken")):
    sys.exit("rudder: error: planted")
if words[0] == "export":
    header = str({"descr": "<i8", "fortran_order": False, "shape": ()})
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<q", 5)
    with zipfile.ZipFile(words[2], "w") as file:
        for name in ("num_nodes", "src", "dst", "train"):
            file.writestr(name + ".npy", array)
if words[0] == "import":
    with open(words[words.index("--labels") + 1], "rb") as file:
        labels = file.read()
    assert zipfile.ZipFile(words[1]).namelist() == ["num_nodes.npy", "src.npy", "dst.npy"]  # and no split
    assert labels[:6] == b"\x93NUMPY" and len(labels) % 64 == 40 and b"(5,)" in labels, labels
if words[:2] == ["agent", "collect"]:
    with open(words[words.index("--out") + 1] + ".jsonl", "w") as file:
        file.write("{}\n{}\n")
'''


class Driver(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, "rudder")
        self.out = os.path.join(self.folder.name, "worlds")
        with open(self.program, "w") as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)

    def collect(self, *options):
        return subprocess.run([sys.executable, DRIVER, "--out", self.out, "--rudder", self.program, *map(str, options)],
                              capture_output=True, text=True)

    def record(self, number):
        with open(os.path.join(self.out, f"world-{number:05d}.json")) as file:
            return json.load(file)

    def calls(self):
        with open(os.path.join(self.folder.name, "calls")) as file:
            return file.read().splitlines()

    def test_goes_on_behind_what_is_there(self):
        done = self.collect("--minutes", 5, "--worlds", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 worlds, 6 decisions, 0 failed", done.stdout)
        before = len(self.calls())
        os.remove(os.path.join(self.out, "world-00001.json"))
        done = self.collect("--minutes", 5, "--worlds", 4)
        self.assertIn("2 worlds, 4 decisions, 0 failed", done.stdout)
        self.assertGreater(len(self.calls()), before)
        self.assertEqual(sorted(os.listdir(self.out)),
                         sorted(f"world-{i:05d}.{end}" for i in range(4) for end in ("json", "jsonl")))
        self.assertEqual(self.record(1)["world"], json.loads(json.dumps(collect.draw_world(0, 1))))
        self.assertEqual(self.record(1)["lines"], 2)

    def test_several_worlds_at_a_time_are_the_same_ones(self):
        done = self.collect("--minutes", 5, "--worlds", 5, "--jobs", 3)
        self.assertIn("5 worlds, 10 decisions, 0 failed", done.stdout, done.stderr)
        self.assertEqual([self.record(i)["world"]["number"] for i in range(5)], list(range(5)))
        self.assertEqual(self.record(4)["world"], json.loads(json.dumps(collect.draw_world(0, 4))))

    def test_begins_no_world_when_time_is_up(self):
        done = self.collect("--minutes", 0, "--worlds", 3)
        self.assertIn("0 worlds", done.stdout)
        self.assertEqual(os.listdir(self.out), [])

    def test_a_world_that_fails_is_noted_once(self):
        with open(os.path.join(self.folder.name, "broken"), "w"):
            pass
        self.assertEqual(self.collect("--minutes", 5, "--worlds", 1).returncode, 1)
        self.assertIn("planted", self.record(0)["failed"])
        os.remove(os.path.join(self.folder.name, "broken"))
        self.assertIn("1 worlds, 2 decisions, 0 failed", self.collect("--minutes", 5, "--worlds", 2).stdout)
        self.assertIn("planted", self.record(0)["failed"])

    def test_a_program_that_is_not_there_is_told(self):
        done = subprocess.run([sys.executable, DRIVER, "--out", self.out, "--minutes", "1", "--rudder", "/nowhere/rudder"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no program: /nowhere/rudder", done.stderr)


class Draws(unittest.TestCase):
    def test_are_by_seed_and_number_alone(self):
        self.assertEqual(collect.draw_world(3, 17), collect.draw_world(3, 17))
        self.assertNotEqual(collect.draw_world(3, 17), collect.draw_world(4, 17))

    def test_cover_what_they_should(self):
        worlds = [collect.draw_world(0, number) for number in range(300)]
        self.assertEqual({world["kind"] for world in worlds}, {"sbm", "rmat", "ba", "grid"})
        started = {word for world in worlds for word in world["collect"]}
        self.assertLessEqual(set(collect.STARTS), started)
        decide = [world for world in worlds if collect.DECIDES in world["collect"]]
        self.assertGreater(len(decide), 100, "yes and no are learned from these")
        links = [world["link"] for world in worlds if world["link"]]
        self.assertTrue(all(world["live"] for world in worlds if world["link"]))
        self.assertTrue(any(";step:" in link for link in links))
        self.assertTrue(any("--guarded" in world["collect"] for world in worlds))
        self.assertGreater(sum(world["live"] for world in worlds), 50)
        for world in worlds:
            self.assertEqual(world["parts"] % world["ranks_per_host"], 0)
            self.assertGreater(world["parts"], world["ranks_per_host"], "one host has no remote rows")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
