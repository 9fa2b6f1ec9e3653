#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuprof diff --html in a real Chromium: from disk with the network off, every view against the figures
of gpuprof diff --json of the same input, by keys alone, in the dark, and with names meant to break it."""

import json
import os
import random

import made_trace
import page_runs
import sim
from diff_page_checks import check_figures
from page_conduct import check_keys, check_looks, check_roles
from page_reader import Page
from page_runs import gpuprof

TABS = ["Changes", "Operators", "Kernels", "Memory", "Run environment", "What cannot be compared and why"]
KEYS = ["changes", "operators", "kernels", "memory", "environment", "missing"]
NAMES = ("aten::mm", "aten::relu", "aten::add", "aten::mul", "aten::sum", "aten::softmax", "aten::layer_norm", "aten::embedding")


def run(path, seed, slower=None, steps=30, names=NAMES, times=1.3, **more):
    """A recording: steps 2 % noisy, the first three times as long, operator `slower` takes so many times as long."""
    rng = random.Random(seed)
    made_trace.write(path, steps=steps, operators=3 * len(names), names=names, **more, factor=lambda step, op: (
        (1 + 0.02 * rng.random()) * (3 if step == 0 else 1) * (times if slower and op == slower else 1)))
    return path


def compared(folder, *recordings):
    """The page of two recordings or several pairs, and the figures of the same ones."""
    html = os.path.join(folder, "diff.html")
    done = gpuprof("diff", "-q", "--html", html, "-f", *recordings)
    assert done.returncode == 0, done.stderr.decode()
    result = gpuprof("diff", "-q", "--json", *recordings)
    assert result.returncode == 0, result.stderr.decode()
    return html, json.loads(result.stdout)


def check_sorting(page):
    page.tab("operators")
    press = "document.querySelector('#panel-operators [data-column=after]').click()"
    for down in (True, False):
        page.b.js(press)
        shown = [float(row["after"][0]) for row in page.table("operators_all")]
        assert shown == sorted(shown, reverse=down) and len(set(shown)) > 2, shown
    page.b.js("document.querySelector('#panel-operators [data-column=change]').click()")
    shown = [row["change"][1] for row in page.table("operators_all")]
    assert shown[0] == "new" and shown[-1] == "gone", shown


def changed(browser, folder):
    """An operator 30 % slower (seen once), one gone, one new, and memory that grows."""
    before = run(os.path.join(folder, "before.json"), 1, names=NAMES + ("aten::old",))
    after = run(os.path.join(folder, "after.json"), 2, "aten::softmax", steps=34, names=NAMES + ("aten::gelu",), kept=1 << 18)
    html, result = compared(folder, before, after)
    claimed = {row["name"]: row["presence"] for row in result["processes"][0]["names"] if row["significant"]}
    assert claimed == {"aten::old": "gone", "aten::gelu": "new"}, claimed
    assert [row["name"] for row in result["processes"][0]["names"] if row["seen_once"]] == ["aten::softmax"]
    page = Page(browser, html)
    check_figures(page, result)
    text = page.tab("changes")
    for words in ("3 significant changes", "Unconfirmed changes, seen in one pair of recordings", "BEFORE3 AFTER3", "GPU 0 memory, peak", "aten::softmax", "self time", "gone, took", "new, takes", "29 steps, 1 warm-up step left out"):
        assert words in text, (words, text)
    page.b.js("document.querySelector('.claims details').open = true")
    check_sorting(page)
    check_keys(page, KEYS)
    check_roles(page, KEYS, TABS)
    check_looks(browser, html, KEYS)
    assert os.path.getsize(html) < 600_000, os.path.getsize(html)


def pairs(browser, folder):
    """Three pairs that all show an operator 30 % slower, and memory that only the first shows."""
    recordings = []
    for i in range(3):
        recordings.append(run(os.path.join(folder, f"before{i}.json"), 20 + i))
        recordings.append(run(os.path.join(folder, f"after{i}.json"), 30 + i, "aten::softmax", kept=1 << 18 if i == 0 else 0))
    html, result = compared(folder, *recordings)
    assert [pair["after"] for pair in result["pairs"]] == recordings[1::2], result["pairs"]
    row = next(row for row in result["processes"][0]["names"] if row["significant"])
    assert (row["name"], row["shown_by"]) == ("aten::softmax", 3), row
    assert [(row["seen_once"], row["shown_by"]) for row in result["processes"][0]["memory"] ][0] == (True, 1)
    page = Page(browser, html)
    check_figures(page, result)
    text = page.tab("changes")
    for words in ("3 pairs of recordings", "pair 3: before ", "1 significant change", "shown by 3 of 3 pairs", "shown by 1 of 3 pairs", "not shown by enough pairs"):
        assert words in text, (words, text)


def hostile(browser, folder):
    before = run(os.path.join(folder, "be\"f<b>ore &.json"), 1, names=("aten::mm", "aten::relu", "aten::add"), hostile=True)
    after = run(os.path.join(folder, "after</script>.json".replace("/", "")), 2, "aten::mm", names=("aten::mm", "aten::relu", "aten::add"), hostile=True)
    html, result = compared(folder, before, after)
    page = Page(browser, html)
    check_figures(page, result)
    for key in KEYS:
        text = page.tab(key)
        assert "\u202e" not in text, f"{key}: turns the text around it"
        assert page.b.js("document.querySelectorAll('main img, main script, main b, main i:not([style]), main iframe').length") == 0, key
    text = page.tab("operators")
    assert made_trace.MARKUP in text and "\\u202eelif" in text and "(65536 bytes)" in text, text[:1500]
    assert "be\"f<b>ore &.json" in page.tab("changes")
    page.clean()


def ranks(browser, folder):
    for side, count in (("before", 3), ("after", 2)):
        os.mkdir(os.path.join(folder, side))
        for rank in range(count):
            run(os.path.join(folder, side, f"rank{rank}.pt.trace.json"), 10 * count + rank, "aten::sum" if (side, rank) == ("after", 1) else None,
                times=4, rank=rank, world=count)
    html, result = compared(folder, os.path.join(folder, "before"), os.path.join(folder, "after"))
    assert len(result["processes"]) == 2 and result["remarks"] == ["only before, not compared: rank 2"], result["remarks"]
    page = Page(browser, html)
    check_figures(page, result)
    assert page.b.js("[...document.getElementById('process').options].map(o => o.text)") == ["rank 0", "rank 1"]
    page.tab("changes")
    rows = page.table("ranks")
    assert [(row["process"][0], int(row["claims"][0]) > 0) for row in rows] == [("rank 0", False), ("rank 1", True)], rows
    assert "ranks in the job: 3 before, 2 after" in page.text("changes")


def equal(browser, folder):
    """Two runs that differ by noise alone; and without steps, call by call."""
    pair = [run(os.path.join(folder, f"run{i}.json"), i) for i in range(2)]
    html, result = compared(folder, *pair)
    page = Page(browser, html)
    check_figures(page, result)
    assert "No significant change" in page.tab("changes")
    for path in pair:
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        trace["traceEvents"] = [e for e in trace["traceEvents"] if not e["name"].startswith("ProfilerStep")]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)
    html, result = compared(folder, *pair)
    assert result["processes"][0]["times_are_of"] == "call"
    page = Page(browser, html)
    check_figures(page, result)
    assert "no steps: times are compared by call" in page.tab("missing")


def simulated(browser, folder):
    """The trainer on the simulated GPU, and itself."""
    sim.require_build()
    out = os.path.join(folder, "out")
    done = sim.run(["-q", "--step", "nvtx:step", "-o", out], ["--steps", "20", "--step-ms", "4"])
    assert done.returncode == 0, done.stderr
    html, result = compared(folder, out, out)
    assert result["simulated"]
    page = Page(browser, html)
    check_figures(page, result)
    assert "simulated GPU: all times of that GPU are invented" in page.tab("changes")


def refused(browser, folder):
    """What keeps a page from being written leaves nothing, and one message; conditions hold as without a page."""
    pair = [run(os.path.join(folder, f"run{i}.json"), i, steps=12) for i in range(2)]
    html = os.path.join(folder, "diff.html")
    with open(html, "w", encoding="utf-8") as file:
        file.write("mine")
    for words, message in ((["--html", html], "--force"), (["--html", folder], "is a folder"), (["--html", html, "-f", "--json"], "cannot be combined with --json"),
                           (["--html", os.path.join(folder, "none", "a.html")], "No such file"), (["--html", html, "-f", "--row-limit", "3"], "--row-limit"),
                           (["--html", "/proc/diff.html"], "cannot write the page"), (["--html", html, "-f", "--fail-if", "nonsense"], "nonsense")):
        done = gpuprof("diff", *words, *pair)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1) and message in done.stderr.decode(), (words, done)
    with open(html, encoding="utf-8") as file:
        assert file.read() == "mine"
    assert sorted(os.listdir(folder)) == ["diff.html", "run0.json", "run1.json"]
    done = gpuprof("diff", "-f", "--html", html, "--fail-if", "step_time > 1us", *pair)
    assert done.returncode == 1 and b"holds" in done.stderr and b"wrote " in done.stderr, done
    assert "--fail-if 'step_time > 1us' holds" in Page(browser, html).tab("changes")


page_runs.main(__doc__, changed, pairs, hostile, ranks, equal, simulated, refused)
