"""Says what pip is about to fetch, which build of torch that is, and how large it is.

Reads the file written by `pip install --dry-run --report`; standard library only.
"""

import json
import os
import sys
import urllib.parse
import urllib.request


def size_of(url):
    """The size of a wheel in bytes, or None where it cannot be known without fetching it."""
    parts = urllib.parse.urlparse(url)
    try:
        if parts.scheme == "file":
            return os.stat(urllib.request.url2pathname(parts.path)).st_size
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.headers["Content-Length"])
    except (OSError, TypeError, ValueError):
        return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        items = json.load(file)["install"]
    if not items:
        return
    names = [f'{item["metadata"]["name"]} {item["metadata"]["version"]}' for item in items]
    for item in items:
        if item["metadata"]["name"].lower() != "torch":
            continue
        version = item["metadata"]["version"]
        cuda = "+cu" in version or any(name.startswith("nvidia-") for name in names)
        print(f'setup: torch {version} is a {"CUDA" if cuda else "CPU"} build')
    sizes = [size_of(item["download_info"]["url"]) for item in items]
    if None in sizes:
        total = "of unknown size"
    else:
        total = f"{sum(sizes) / 1e6:,.0f} MB"
    print(f'setup: fetching {total} into .venv: {", ".join(names)}', flush=True)


main()
