"""Pictures of reports, made by headless Chromium: desktop (1440 pixels) and phone (390), light and dark.

    screenshots.py RUN.html COMPARISON.html FOLDER
"""
import base64
import os
import sys

from devtools import Browser, find_browser

WIDTHS = {"desktop": (1440, 900, False), "phone": (390, 844, True)}


def place(page, selectors):
    """The rectangle around elements, with a little room."""
    return page.value("""(() => {
        const boxes = %r.map(s => document.querySelector(s).getBoundingClientRect());
        const top = Math.min(...boxes.map(b => b.top)) + scrollY - 16;
        const left = Math.max(0, Math.min(...boxes.map(b => b.left)) - 20);
        return {x: left, y: Math.max(0, top),
                width: Math.min(innerWidth - left, Math.max(...boxes.map(b => b.right)) + 20 - left),
                height: Math.max(...boxes.map(b => b.bottom)) + scrollY + 16 - Math.max(0, top)};
    })()""" % selectors)


def picture(page, clip, scale, file):
    taken = page.call("Page.captureScreenshot", format="png", optimizeForSpeed=False,
                      captureBeyondViewport=True, clip={**clip, "scale": scale})
    with open(file, "wb") as out:
        out.write(base64.b64decode(taken["data"]))
    print(file, os.path.getsize(file), "bytes")


# What is taken: page, name, elements, scale by width, colours.
BOTH = ("light", "dark")
PICTURES = (
    ("run", "report", ["header.top", "#learning"], {"desktop": 0.8, "phone": 1.0}, BOTH),
    ("run", "report-time", ["#time", "#step"], {"desktop": 0.75}, ("light",)),
    ("run", "report-rows", ["#rows", "#partition"], {"desktop": 0.75}, ("light",)),
    ("comparison", "comparison", ["header.top", "#all"], {"desktop": 0.8}, BOTH),
    ("comparison", "comparison", ["header.top", "#all .costs"], {"phone": 1.0}, BOTH),
)


def file_names():
    """Of all pictures that are taken."""
    return [f"{name}-{width}-{scheme}.png" for _, name, _, scales, schemes in PICTURES for width in scales for scheme in schemes]


def take(page, addresses, folder):
    """All pictures of a run's page and a comparison's; gives for each file the clip and the scale it was taken with."""
    taken = {}
    for width, (x, y, mobile) in WIDTHS.items():
        page.size(x, y, 1, mobile)
        for scheme in BOTH:
            page.colours(scheme)
            for which, address in addresses.items():
                page.open(address)
                for of, name, selectors, scales, schemes in PICTURES:
                    if of == which and width in scales and scheme in schemes:
                        clip, file = place(page, selectors), f"{name}-{width}-{scheme}.png"
                        picture(page, clip, scales[width], os.path.join(folder, file))
                        taken[file] = clip, scales[width]
    return taken


def main():
    addresses = {which: "file://" + os.path.abspath(file) for which, file in zip(("run", "comparison"), sys.argv[1:3])}
    folder = sys.argv[3]
    program = find_browser()
    if program is None:
        sys.exit("screenshots: there is no Chromium here; scripts/setup --look installs it")
    os.makedirs(folder, exist_ok=True)
    with Browser(program) as browser:
        take(browser.page(), addresses, folder)


if __name__ == "__main__":
    main()
