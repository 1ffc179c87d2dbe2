"""Every relative link and image of every page leads somewhere, down to the heading.

    check_links.py ROOT
"""
import pathlib
import re
import subprocess
import sys


def plain(text):
    """A page without its code, in which brackets are no links."""
    text = re.sub(r"^(```|~~~).*?^\1$", "", text, flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", lambda m: "x" * len(m.group()), text)


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading))


def anchors(text):
    found, seen = set(), {}
    text = re.sub(r"^(```|~~~).*?^\1$", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} +(.*?)\s*#*$", text, re.M):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(name if count == 0 else f"{name}-{count}")
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=root, text=True,
                            capture_output=True)
    if listed.returncode == 0:
        pages = sorted(root / name for name in listed.stdout.split() if (root / name).exists())
    else:  # an unpacked archive
        pages = sorted(p for p in root.rglob("*.md") if not {"build", ".venv"} & set(p.relative_to(root).parts))
    wrong, count = [], 0
    for page in pages:
        text = page.read_text()
        links = re.findall(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", plain(text))
        links += re.findall(r'<(?:img|source|a)[^>]+(?:src|srcset|href)="([^"]+)"', plain(text))
        for link in links:
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                wrong.append(f"{page.relative_to(root)}: no {link}")
            elif root not in target.parents and target != root:
                wrong.append(f"{page.relative_to(root)}: {link} leads out of the tree")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                wrong.append(f"{page.relative_to(root)}: no heading for {link}")
    # A page that nobody links to is not found by anyone.
    index = (root / "docs/README.md").read_text()
    for page in sorted((root / "docs").glob("*.md")):
        if page.name != "README.md" and f"({page.name})" not in index:
            wrong.append(f"docs/README.md does not link {page.name}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(pages)} pages, {count} links")


main()
