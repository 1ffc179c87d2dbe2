"""Pictures of a report, made by headless Chromium.

    screenshots.py REPORT.html FOLDER
"""
import base64
import os
import sys

from devtools import Browser, find_browser


def main():
    report, folder = sys.argv[1:3]
    program = find_browser()
    if program is None:
        sys.exit("screenshots: there is no Chromium here; scripts/setup --look installs it")
    os.makedirs(folder, exist_ok=True)
    with Browser(program) as browser:
        page = browser.page()
        for name, width, height, scale, mobile in (("desktop", 1200, 1780, 1, False),
                                                   ("phone", 390, 1700, 1.25, True)):
            for scheme in ("light", "dark"):
                page.size(width, height, scale, mobile)
                page.colours(scheme)
                page.open("file://" + os.path.abspath(report))
                picture = page.call("Page.captureScreenshot", format="png", optimizeForSpeed=False)
                file = os.path.join(folder, f"report-{name}-{scheme}.png")
                with open(file, "wb") as out:
                    out.write(base64.b64decode(picture["data"]))
                print(file, os.path.getsize(file), "bytes")
                if name == "phone":
                    continue
                # The rest of the page, from the rows to the partition.
                place = page.value("""(() => {
                    const top = document.querySelector('#rows').getBoundingClientRect().top + scrollY;
                    const end = document.querySelector('#partition').getBoundingClientRect().bottom;
                    return [top - 16, end + scrollY - top + 32];
                })()""")
                picture = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                                    clip={"x": 24, "y": place[0], "width": width - 48,
                                          "height": place[1], "scale": 0.85})
                file = os.path.join(folder, f"report-rows-{scheme}.png")
                with open(file, "wb") as out:
                    out.write(base64.b64decode(picture["data"]))
                print(file, os.path.getsize(file), "bytes")


main()
