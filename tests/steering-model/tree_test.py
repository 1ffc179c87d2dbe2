"""`make steering-model` makes the model that is in the tree: options, card and document say the same.

    tree_test.py PROMPT_SAMPLES
"""
import json
import pathlib
import re
import struct
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def options():
    script = ROOT / "tools" / "steering-model" / "build.sh"
    return subprocess.run([script, "options"], check=True, capture_output=True, text=True).stdout.split()


class Tree(unittest.TestCase):
    def setUp(self):
        words = options()
        self.given = dict(zip(words[::2], words[1::2]))
        self.card = (ROOT / "models" / "steering.md").read_text()
        self.page = (ROOT / "docs" / "steering-model.md").read_text()
        content = (ROOT / "models" / "steering.safetensors").read_bytes()
        header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
        self.words = header.pop("__metadata__")
        self.config = json.loads(self.words["config"])
        self.parameters = 0
        for entry in header.values():
            count = 1
            for size in entry["shape"]:
                count *= size
            self.parameters += count

    def test_the_card_is_of_a_training_with_these_options(self):
        short, whole = int(self.given["--short"]), int(self.given["--steps"])
        self.assertRegex(self.card, f"- {short + whole} steps: {short} of {self.given.get('--short-batch', 64)} short prompts, then (at most )?{whole} of "
                                    f"{self.given.get('--batch', 16)} whole ones; {self.given['--threads']} threads")
        self.assertIn(f"(size {self.given['--size']})", self.card)
        self.assertRegex(self.card, r"- Collected decisions: \d+ \(held out: ")

    def test_the_page_names_the_same_options(self):
        self.assertIn("train.py OUT " + " ".join(options()), self.page)

    def test_counts_of_parameters_are_those_of_the_file(self):
        self.assertIn(f"A language model of {self.parameters} parameters", self.card)
        row = re.search(rf"\| {self.given['--size']} \| ([0-9,]+) \| (\d+) \| (\d+) \| (\d+) \((\d+)\) \| (\d+) \|", self.page)
        self.assertEqual(int(row[1].replace(",", "")), self.parameters)
        shape = [self.config[name] for name in ("layers", "width", "heads", "kv_heads", "hidden")]
        self.assertEqual([int(n) for n in row.groups()[1:]], shape)
        self.assertIn(f"{len(json.loads(self.words['tokens'])):,} tokens", self.page)


if __name__ == "__main__":
    unittest.main(argv=[__file__])
