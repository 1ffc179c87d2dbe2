"""The page of the package's names is made from its docstrings, and names what is there."""

import inspect
import os
import subprocess
import sys
import unittest

import rudder
import rudder.pyg

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class ApiTest(unittest.TestCase):
    def test_the_page_is_as_the_docstrings_are(self):
        made = subprocess.run([sys.executable, os.path.join(root, "scripts", "python-api")], check=True,
                              capture_output=True, text=True).stdout
        with open(os.path.join(root, "docs", "python-api.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), made, "scripts/python-api > docs/python-api.md")
        for name in rudder.__all__:
            if name != "version":
                self.assertIn(f"`rudder.{name}", made)

    def test_everything_that_is_offered_says_what_it_is(self):
        for name in rudder.__all__:
            thing = getattr(rudder, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                self.assertTrue(thing.__doc__, name)


if __name__ == "__main__":
    unittest.main()
