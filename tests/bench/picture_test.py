"""The picture of one step: which bars, where, and that the file is well-formed.

    picture_test.py SOURCE BUILD
"""
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

SOURCE = sys.argv[1]
SCRIPT = os.path.join(SOURCE, "bench", "scale", "profile_picture.py")
sys.path.insert(0, os.path.dirname(SCRIPT))
import profile_picture as picture  # noqa: E402  (after the path is set)

SVG = "{http://www.w3.org/2000/svg}"


def span(tid, name, kind, begin, length, step=None):
    event = {"ph": "X", "name": name, "cat": kind, "pid": 1, "tid": tid, "ts": begin, "dur": length}
    return event | ({"args": {"step": step}} if step is not None else {})


def profile():
    named = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "rank 0 on here"}},
             {"ph": "M", "name": "process_sort_index", "pid": 1, "tid": 1, "args": {"sort_index": 0}}]
    for tid, name in enumerate(("main", "fetch <0>", "idle"), 1):
        named += [{"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}},
                  {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": tid, "args": {"sort_index": tid}}]
    return {"otherData": {"made_by": "rudder 0"}, "traceEvents": named + [
        span(1, "step", "step", 0, 10, 0), span(1, "step", "step", 10, 1000, 1), span(1, "step", "step", 1010, 5000, 2),
        span(1, "compute", "compute", 260, 500, 1), span(1, "stall", "stall", 10, 250, 1),
        span(2, "fetch", "fetch", 510, 2000, 2), span(3, "wait: work", "wait", 0, 6000),
        span(1, "compute", "compute", 1200, 800, 2)]}


def bars(text):
    """x and width of every bar that is no background, by what its title says."""
    found = {}
    for rect in tree.fromstring(text).iter(SVG + "rect"):
        title = rect.find(SVG + "title")
        if title is not None:
            found[title.text] = (float(rect.get("x")), float(rect.get("width")))
    return found


class Step(unittest.TestCase):
    def test_the_median_step_and_what_lies_in_it(self):
        text = picture.draw(profile())
        found = bars(text)
        self.assertEqual(set(found), {"compute: 0.50 ms", "stall: 0.25 ms", "fetch: 2.00 ms"})
        left, wide = picture.LEFT, picture.WIDTH
        self.assertEqual(found["stall: 0.25 ms"], (left, wide / 4))
        self.assertEqual(found["compute: 0.50 ms"], (left + wide / 4, wide / 2))
        self.assertEqual(found["fetch: 2.00 ms"], (left + wide / 2, wide / 2))  # cut where the step ends
        self.assertIn("fetch &lt;0&gt;", text)
        self.assertNotIn("idle", text)  # it only waited

    def test_a_named_step(self):
        self.assertIn("compute: 0.80 ms", bars(picture.draw(profile(), 2)))
        with self.assertRaisesRegex(ValueError, "no step 7"):
            picture.draw(profile(), 7)

    def test_files_that_are_no_profiles_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.json")
            with open(path, "w") as file:
                file.write("{}")
            done = subprocess.run([sys.executable, SCRIPT, path, "--out", os.path.join(folder, "a.svg")],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("invalid profile", done.stderr)
            self.assertEqual(os.listdir(folder), ["profile.json"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
