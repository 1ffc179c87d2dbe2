"""The vocabulary: trained on prompts, and text to tokens by llama.cpp's rule for SentencePiece models.

    vocabulary.py TEXTS OUT [--size 1700]     TEXTS: one JSON string per line; OUT: the pieces as JSON

Digits never merge with anything, so text falls apart at digits and each part is looked up once. A piece
joins a word with what stands beside it only where the word is whole, so that names which the vocabulary
does not know become the same tokens wherever they stand.
"""
import argparse
import collections
import heapq
import json
import re

UNKNOWN, START, STOP, SYSTEM, USER, ASSISTANT, END = range(7)
CONTROL = ["<unk>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
FIRST_BYTE = len(CONTROL)
FIRST_PIECE = FIRST_BYTE + 256
SPACE = "\u2581"
SINGLES = [SPACE, "\n"] + [chr(c) for c in range(33, 127)]
PARTS = re.compile("[0-9]|[^0-9]+")
WORD = re.compile("[A-Za-z]+")
LAST_WORD = re.compile("[A-Za-z]+$")


def is_letter(character):
    return character.isascii() and character.isalpha()


class Vocabulary:
    """The pieces in the order of their ids, and both directions between text and ids."""

    def __init__(self, tokens):
        if tokens[:FIRST_BYTE] != CONTROL or tokens[FIRST_PIECE - 1] != "<0xFF>":
            raise ValueError("invalid vocabulary: it must begin with the control tokens and the 256 bytes")
        self.tokens = list(tokens)
        self.ids = {piece: id for id, piece in enumerate(tokens) if id >= FIRST_PIECE}
        self._parts = {}

    @staticmethod
    def of_merges(merges):
        """The whole list: control tokens, bytes, merges, then single characters."""
        pieces = list(dict.fromkeys(merges))
        singles = [s for s in SINGLES if s not in pieces]
        return Vocabulary(CONTROL + [f"<0x{b:02X}>" for b in range(256)] + pieces + singles)

    def __len__(self):
        return len(self.tokens)

    def scores(self):
        """What GGUF wants beside each token: a piece that is earlier in the list is merged first."""
        return [0.0] * FIRST_PIECE + [-float(i + 1) for i in range(len(self) - FIRST_PIECE)]

    def encode(self, text):
        """The ids of a text; control tokens never come of it."""
        ids = []
        for part in PARTS.findall(text.replace(" ", SPACE)):
            known = self._parts.get(part)
            if known is None:
                known = self._ids_of(part)
                if len(self._parts) < 200_000:
                    self._parts[part] = known
            ids += known
        return ids

    def decode(self, ids):
        data = b""
        for id in ids:
            if FIRST_BYTE <= id < FIRST_PIECE:
                data += bytes([id - FIRST_BYTE])
            elif id >= FIRST_PIECE:
                data += self.tokens[id].replace(SPACE, " ").encode()
        return data.decode(errors="replace")

    def prompt(self, system, user):
        """A conversation up to the place where the reply begins: the system's part, the user's part."""
        return ([START, SYSTEM] + self.encode(system) + [END],
                [USER] + self.encode(user) + [END, ASSISTANT])

    def _ids_of(self, part):
        ids = []
        for symbol in self._merged(part):
            if symbol in self.ids:
                ids.append(self.ids[symbol])
            else:
                ids += [FIRST_BYTE + byte for byte in symbol.encode()]
        return ids

    def _merged(self, part):
        """Merges the neighbours whose joined text comes first in the list, leftmost first, until none is left."""
        symbols = list(part)
        after = list(range(1, len(symbols) + 1))
        before = list(range(-1, len(symbols) - 1))
        waiting = []

        def offer(left):
            right = after[left]
            if right < len(symbols):
                joined = symbols[left] + symbols[right]
                if joined in self.ids:
                    heapq.heappush(waiting, (self.ids[joined], left, joined))

        for left in range(len(symbols) - 1):
            offer(left)
        while waiting:
            _, left, joined = heapq.heappop(waiting)
            right = after[left]
            if symbols[left] is None or right >= len(symbols) or symbols[left] + symbols[right] != joined:
                continue
            symbols[left], symbols[right] = joined, None
            after[left] = after[right]
            if after[right] < len(symbols):
                before[after[right]] = left
            offer(left)
            if before[left] >= 0:
                offer(before[left])
        return [s for s in symbols if s is not None]


class _Part:
    """A text between digits while merges are found: its symbols, and where its words are."""

    def __init__(self, text, count):
        self.symbols = list(text)
        self.count = count
        self.words = {m.span() for m in WORD.finditer(text)}

    def pairs(self):
        """Neighbours, and whether they may be merged for what they are here."""
        at = 0
        for left, right in zip(self.symbols, self.symbols[1:]):
            middle = at + len(left)
            yield (left, right), self._may_merge(left, right, middle)
            at = middle

    def _may_merge(self, left, right, middle):
        inner, outer = is_letter(left[-1]), is_letter(right[0])
        if inner == outer:
            return True  # inside a word, or between marks
        if inner:
            span, own, other = (middle - len(LAST_WORD.search(left)[0]), middle), left, right
        else:
            span, own, other = (middle, middle + len(WORD.match(right)[0])), right, left
        # Names may begin or end like a word of one letter: it needs more around it.
        length = span[1] - span[0]
        safe = length > 1 or len(own) > length or (len(other) > 3 and WORD.search(other))
        return span in self.words and bool(safe)

    def merge(self, left, right):
        """Joins every such pair, from the left."""
        symbols, i = self.symbols, 0
        while i + 1 < len(symbols):
            if symbols[i] == left and symbols[i + 1] == right:
                symbols[i : i + 2] = [left + right]
            i += 1


def train(texts, size):
    """The vocabulary of that size for texts: the most frequent pair is merged, again and again."""
    wanted = size - FIRST_PIECE - len(SINGLES)
    if wanted < 0:
        raise ValueError(f"invalid size: {size}; it is at least {FIRST_PIECE + len(SINGLES)}")
    counts = collections.Counter()
    for text in texts:
        counts.update(p for p in PARTS.findall(text.replace(" ", SPACE)) if not p.isdigit())
    parts = [_Part(text, count) for text, count in sorted(counts.items())]
    pairs, places = collections.Counter(), collections.defaultdict(set)

    def add(index, sign):
        for pair, allowed in parts[index].pairs():
            places[pair].add(index)
            pairs[pair] += sign * parts[index].count * allowed

    for index in range(len(parts)):
        add(index, 1)
    merges = {}
    while len(merges) < wanted and pairs:
        left, right = max(pairs, key=lambda pair: (pairs[pair], pair))
        if pairs[left, right] < 2:
            break
        merges[left + right] = None
        for index in sorted(places.pop((left, right))):
            add(index, -1)
            parts[index].merge(left, right)
            add(index, 1)
        pairs = +pairs
        pairs.pop((left, right), None)
    return Vocabulary.of_merges(merges)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts")
    parser.add_argument("out")
    parser.add_argument("--size", type=int, default=1700)
    options = parser.parse_args()
    with open(options.texts, encoding="utf-8") as lines:
        vocabulary = train([json.loads(line) for line in lines], options.size)
    with open(options.out, "w", encoding="utf-8") as out:
        json.dump(vocabulary.tokens, out, ensure_ascii=False)


if __name__ == "__main__":
    main()
