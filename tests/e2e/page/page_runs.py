# SPDX-License-Identifier: Apache-2.0
"""What runs the inputs of a test of pages, each with a folder of its own, in one browser."""

import argparse
import os
import subprocess
import time

import e2e
from browser import Browser, executable


def gpuprof(*arguments):
    return subprocess.run([e2e.GPUPROF, *arguments], capture_output=True, timeout=600, check=False)


def last_look(browser, folder):
    """What the page showed when a check of it failed, beside the page."""
    try:
        browser.screenshot(os.path.join(folder, "failed.png"))
        with open(os.path.join(folder, "failed.txt"), "w", encoding="utf-8") as file:
            file.write(browser.js("location.href + '\\n\\n' + document.body.innerText"))
    except (AssertionError, OSError) as problem:
        print(f"no last look at the page: {problem}")


def main(about, *inputs):
    """inputs: functions of browser and folder; --only names some of them."""
    parser = argparse.ArgumentParser(description=about)
    by_name = {one.__name__: one for one in inputs}
    parser.add_argument("--only", default=",".join(by_name))
    options = parser.parse_args()
    if not executable():
        e2e.skip("no Chromium (apt-get install chromium): the page is looked at in a real browser or not at all")
    with Browser.start() as browser:
        for name in options.only.split(","):
            began = time.monotonic()
            with e2e.Folder("page-" + name) as folder:
                try:
                    by_name[name](browser, folder)
                except Exception as problem:
                    print(f"{name}: failed: {type(problem).__name__}: {problem}", flush=True)
                    last_look(browser, folder)
                    raise
            print(f"{name}: ok, {time.monotonic() - began:.1f} s", flush=True)
