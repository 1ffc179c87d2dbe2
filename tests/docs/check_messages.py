"""Every message that docs/troubleshooting.md quotes is one that the program can print.

    check_messages.py ROOT

Messages stand in lines of their own: > `TEXT`, where … stands for what differs.
"""
import pathlib
import re
import sys


def source(root):
    """All string literals of the program, with neighbouring ones joined as the compiler does."""
    texts = []
    for file in sorted((root / "src").rglob("*.[ch]pp")):
        text = re.sub(r"//.*", "", file.read_text())
        text = re.sub(r'"\s*\n\s*"', "", text)
        texts += re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    return [t.replace("\\n", "\n").replace('\\"', '"') for t in texts]


def known(message, literals):
    """Whether the pieces between placeholders follow each other in one literal, or end and begin two."""
    pieces = [piece.strip() for piece in message.split("…") if piece.strip()]
    pattern = r".*".join(re.escape(piece) for piece in pieces)
    if any(re.search(pattern, literal, re.S) for literal in literals):
        return True
    # Words that the program puts together: every longer piece must be there by itself.
    return len(pieces) > 1 and all(any(piece in literal for literal in literals)
                                   for piece in pieces if len(piece) > 3)


def main():
    root = pathlib.Path(sys.argv[1])
    page = (root / "docs/troubleshooting.md").read_text()
    messages = re.findall(r"^> `(.+)`$", page, re.M)
    if len(messages) < 20:
        sys.exit(f"only {len(messages)} messages found")
    literals = source(root)
    wrong = [m for m in messages if not known(m, literals)]
    if known("no such message is … ever printed", literals):
        sys.exit("the check itself finds anything")
    if wrong:
        sys.exit("not in the source:\n" + "\n".join(wrong))
    print(f"{len(messages)} messages")


main()
