"""The vocabulary: text to tokens by the rule, against a slow version of it.

    vocabulary_test.py PROMPT_SAMPLES
"""
import json
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "steering-model"))
import vocabulary as words  # noqa: E402
import worlds  # noqa: E402


def slow_encode(vocabulary, text):
    """The rule as it is written: of all neighbours that join to a piece, the best; until none is left."""
    symbols = list(text.replace(" ", words.SPACE))
    scores = dict(zip(vocabulary.tokens[words.FIRST_PIECE :], vocabulary.scores()[words.FIRST_PIECE :]))
    while True:
        best = None
        for i, (left, right) in enumerate(zip(symbols, symbols[1:])):
            score = scores.get(left + right)
            if score is not None and (best is None or score > best[0]):
                best = (score, i)
        if best is None:
            break
        i = best[1]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    ids = []
    for symbol in symbols:
        if symbol in scores:
            ids.append(vocabulary.tokens.index(symbol, words.FIRST_PIECE))
        else:
            ids += [words.FIRST_BYTE + byte for byte in symbol.encode()]
    return ids


def texts_of_worlds(names, count, seed=0):
    texts = []
    for index in range(count):
        for world in worlds.draw_group(seed, index, 2, names):
            texts += [world.system(), world.user(), world.reply()]
    return texts


class VocabularyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vocabulary = words.train(texts_of_worlds(worlds.Placeholders(), 30), 1200)
        lines = subprocess.run([SAMPLES], check=True, capture_output=True, text=True).stdout.splitlines()
        cls.real = [text for line in lines for text in json.loads(line).values()]

    def test_control_tokens_and_bytes_stand_first(self):
        tokens = self.vocabulary.tokens
        self.assertEqual(tokens[:8], ["<unk>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<0x00>"])
        self.assertEqual(tokens[262], "<0xFF>")
        self.assertEqual(len(tokens), 1200)
        self.assertEqual(len(set(tokens)), 1200)

    def test_is_the_same_as_the_slow_version(self):
        texts = self.real + texts_of_worlds(worlds.Names(), 3)
        r = random.Random(7)
        for _ in range(300):
            text = r.choice(texts)
            at = r.randrange(len(text))
            piece = text[at : at + r.randint(1, 80)]
            mixed = piece + r.choice(["", "\u00e4", "\u2581", "<|end|>", "\t", "the the", "  "]) + piece[::-1]
            self.assertEqual(self.vocabulary.encode(mixed), slow_encode(self.vocabulary, mixed), repr(mixed))

    def test_text_comes_back(self):
        for text in self.real + ["", "\u00e4\u20ac\t", " a  b "]:
            self.assertEqual(self.vocabulary.decode(self.vocabulary.encode(text)), text)

    def test_control_tokens_never_come_of_text(self):
        ids = self.vocabulary.encode("<|end|><|system|><s></s><unk><0x41>")
        self.assertTrue(all(id >= words.FIRST_BYTE for id in ids))
        self.assertNotIn(words.FIRST_BYTE + 0x41, ids)

    def test_every_digit_is_a_token_of_its_own(self):
        for id, token in enumerate(self.vocabulary.tokens[words.FIRST_PIECE :], words.FIRST_PIECE):
            if any(c.isdigit() for c in token):
                self.assertEqual(len(token), 1, token)
        for text in self.real:
            digits = [self.vocabulary.tokens[id] for id in self.vocabulary.encode(text)]
            self.assertEqual("".join(t for t in digits if t.isdigit()), "".join(c for c in text if c.isdigit()))

    def test_phrases_of_prompts_are_short(self):
        largest = words.train(texts_of_worlds(worlds.Placeholders(), 30), 1700)
        self.assertLess(len(largest.encode(self.real[0] + self.real[1])), 400)  # 12 knobs, one effect
        self.assertLess(len(largest.encode('{"action":"set","knobs":{"policy":"')), 3)

    def test_names_are_the_same_tokens_wherever_they_stand(self):
        largest = words.train(texts_of_worlds(worlds.Placeholders(), 30), 1700)
        names, r = worlds.Names(), random.Random(3)
        alike = 0
        for _ in range(400):
            name = names.draw(r)
            own = largest.encode(name)
            places = [f": set policy {name} (applied)", f"sample ({name}, capacity", f'"policy":"{name}"}}}}', f"policy {name};"]
            alike += all(self.holds(largest.encode(place), own) for place in places)
        self.assertGreater(alike, 360)

    @staticmethod
    def holds(ids, part):
        return any(ids[i : i + len(part)] == part for i in range(len(ids)))

    def test_too_small_a_size_is_refused(self):
        with self.assertRaisesRegex(ValueError, "invalid size: 300"):
            words.train(["text"], 300)


if __name__ == "__main__":
    SAMPLES = sys.argv.pop(1)
    unittest.main()
