#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuprof report --html in a real Chromium: from disk with the network off, every view against the figures
of gpuprof report --json of the same input, by keys alone, in the dark, and with names meant to break it."""

import argparse
import json
import os
import subprocess
import sys
import time

import e2e
import made_trace
import sim
from browser import Browser, executable
from page_reader import Page, close, same_rows, us_text

sys.path.insert(0, os.path.join(e2e.SOURCE, "tests", "e2e", "lib"))

TABS = ["Overview", "Operators", "Kernels", "Flame graph", "Timeline", "Memory", "Modules", "Distributed",
        "Run environment", "What is missing and why"]
KEYS = ["overview", "operators", "kernels", "flame", "timeline", "memory", "modules", "distributed", "environment", "missing"]
PARTS = {"Kernel": "kernel", "Memcpy": "memcpy", "Memset": "memset", "Communication": "communication", "Runtime": "runtime",
         "DataLoader": "dataloader", "CPU Exec": "cpu", "Other": "other"}


def gpuprof(*arguments):
    return subprocess.run([e2e.GPUPROF, *arguments], capture_output=True, timeout=120, check=False)


def report(source, page):
    """The page of an input, and the figures of the same one."""
    began = time.monotonic()
    done = gpuprof("report", "-q", "--html", page, "-f", *source)
    seconds = time.monotonic() - began
    assert done.returncode == 0, done.stderr.decode()
    told = gpuprof("report", "-q", "--json", *source)
    assert told.returncode == 0, told.stderr.decode()
    return json.loads(told.stdout), seconds


def check_overview(page, process):
    text, summary = page.tab("overview"), process["step_summary"]
    for part, ns in summary["mean_by_category_ns"].items():
        cell = page.b.js(f"document.querySelector('tr[data-part={PARTS[part]}] td')?.innerText")
        assert cell == (us_text(ns / 1000) if ns > 0 else None), (part, cell, ns)
    if not summary["made_up"]:
        tiles = page.b.js("Object.fromEntries([...document.querySelectorAll('.tiles dd[data-key]')].map(d => [d.dataset.key, d.innerText]))")
        assert tiles["steps"] == f"{summary['steps']:,}", tiles
        assert tiles["mean"] == us_text(summary["mean_ns"] / 1000), tiles
        assert tiles["p95"] == us_text(summary["p95_ns"] / 1000), tiles
        assert page.b.wait("document.querySelector('#panel-overview .chart svg g[fill] > *')"), "no bar in the step chart"
        page.b.js("document.querySelector('#panel-overview details:has([data-table=steps]) summary').click()")
        steps = page.table("steps")
        wanted = process["tables"]["step"]
        assert len(steps) == len(wanted) and all(close(float(s["us"][0]), w["time_ns"] / 1000) for s, w in zip(steps, wanted))
    for gpu in process["tables"]["gpu"]:
        if gpu["kernels"]:
            assert gpu["name"][:20] in text and f"{gpu['utilisation_percent']:.1f} %" in text, text[:500]
            assert f"{gpu['kernels']:,}" in text
    assert ("simulated GPU" in text) == process["simulated"]
    assert "Advice" in text


def check_operators(page, process):
    text = page.tab("operators")
    shown = page.table("operators")
    if not process["tables"]["operator"]:
        assert shown is None and "No operators" in text
        return
    wanted = [row for row in process["tables"]["operator"] if not row["on_device"]]
    same_rows(shown or [], wanted, {"name": ("name", 0), "count": ("count", 1), "self_cpu": ("self_cpu_time_total_ns", 1000),
                                    "cpu": ("cpu_time_total_ns", 1000)})
    for row in shown or []:
        assert row["self_cpu"][1] == us_text(float(row["self_cpu"][0])), row


def check_kernels(page, process):
    text, tables = page.tab("kernels"), process["tables"]
    spread = {"count": ("count", 1), "total": ("total_ns", 1000), "max": ("max_ns", 1000), "p95": ("p95_ns", 1000)}
    for mine, theirs in (("kernels", "kernel"), ("calls", "api"), ("waits", "sync")):
        shown = page.table(mine) or []
        assert not same_rows(shown, tables[theirs], {**spread}), f"{mine}: rows are missing"
    copies = page.table("copies") or []
    assert not same_rows(copies, tables["memcpy"] + tables["memset"], {**spread, "bytes": ("bytes", 1)})
    assert tables["kernel"] or not copies or text
    if not any(tables[t] for t in ("kernel", "api", "sync", "memcpy", "memset")):
        assert "No GPU work" in text, text


def check_flame(page, process):
    text, tables = page.tab("flame"), process["tables"]
    titles = page.b.js("[...document.querySelectorAll('#panel-flame fieldset label')].map(l => l.innerText)")
    gpu_us = sum(row["total_ns"] for t in ("kernel", "memcpy", "memset") for row in tables[t]) / 1000
    assert ("GPU time" in titles) == (gpu_us > 0), titles
    if not titles:
        assert "No stack was sampled" in text
        return
    if gpu_us:
        page.b.js(f"document.querySelectorAll('#panel-flame fieldset input')[{titles.index('GPU time')}].click()")
        detail = page.b.js("document.querySelector('#panel-flame .detail').innerText")
        assert us_text(gpu_us) in detail and "100.0 %" in detail, (detail, gpu_us)
        leaf = max(tables["kernel"], key=lambda row: row["total_ns"])["name"]
        assert any(row["frame"][0][:60] == leaf[:60] for row in page.table("frames")) or len(leaf) > 60 or "\n" in leaf
    # Drawn once the browser has laid the page out.
    assert page.b.wait("document.querySelectorAll('#panel-flame [role=treeitem]').length > 1")
    boxes = page.b.js("document.querySelectorAll('#panel-flame [role=treeitem]').length")
    page.b.js("document.querySelector('#panel-flame .flame').focus()")
    page.b.key("ArrowDown")
    first = page.b.js("document.querySelector('#panel-flame .detail').innerText")
    assert not first.startswith("all\n"), first
    page.b.key("Enter")
    page.b.key("Escape")
    assert page.b.js("document.querySelectorAll('#panel-flame [role=treeitem]').length") == boxes, "Escape shows all again"
    name = page.b.js("(e => document.getElementById(e.getAttribute('aria-activedescendant'))?.getAttribute('aria-label'))"
                     "(document.querySelector('#panel-flame .flame'))")
    assert name and "%" in name, name


def check_timeline(page, process):
    text = page.tab("timeline")
    titles = page.b.js("[...document.querySelectorAll('#panel-timeline fieldset label')].map(l => l.innerText)")
    summary, tables = process["step_summary"], process["tables"]
    if not titles:
        assert "No event with a length" in text
        return
    if not summary["made_up"]:
        assert titles[0].startswith(f"step {tables['step'][0]['step']} (first"), titles
        longest = max(s["time_ns"] for s in tables["step"])
        slowest = {f"step {s['step']} " for s in tables["step"] if s["time_ns"] == longest}
        assert any("slowest" in t for t in titles) == (len(tables["step"]) > 1), titles
        assert len(tables["step"]) < 2 or any(t.startswith(tuple(slowest)) and "slowest" in t for t in titles), (titles, slowest)
    assert page.b.wait("page.timeline_view.view.width > 0")
    events = page.b.js("page.timeline_view.view.slice.start.length")
    assert events > 0
    page.b.js("document.querySelector('#panel-timeline canvas').focus()")
    page.b.key("n")
    page.b.key("n")
    assert "Lasts" in page.b.js("document.querySelector('#panel-timeline .detail').innerText")
    arrows = page.b.js("page.timeline_view.view.arrows.length")
    assert (arrows > 0) == bool(tables["kernel"]), arrows
    if arrows:
        page.b.js("page.timeline_view.act.choose(page.timeline_view.view.arrows[0][0], true)")
        assert "Launched" in page.b.js("document.querySelector('#panel-timeline .detail').innerText")
        page.b.key("Enter")
        assert "Launched by" in page.b.js("document.querySelector('#panel-timeline .detail').innerText"), "Enter follows the arrow"
    before = page.b.js("page.timeline_view.view.x.domain()")
    page.b.key("+")
    after = page.b.js("page.timeline_view.view.x.domain()")
    assert after[1] - after[0] < before[1] - before[0], "plus zooms in"
    page.b.js("""(i => { i.value = page.timeline_view.view.strings.at(-1); i.dispatchEvent(new Event('input')); })
              (document.querySelector('#panel-timeline input[type=search]'))""")
    assert " found" in page.b.js("document.querySelector('#panel-timeline .count').innerText")
    page.b.key("0")
    page.b.js("document.querySelector('#panel-timeline details summary').click()")
    assert page.b.wait("document.querySelector('[data-table=in_view] tbody tr')"), "the table of what is in view"


def check_memory(page, process):
    text = page.tab("memory")
    used = [d for d in process["memory_devices"] if d["allocations"] or d["peak_allocated_bytes"]]
    if not used:
        assert "No allocation was recorded" in text
        return
    for device in used:
        title = "Memory of the host" if device["device"] < 0 else f"Memory of GPU {device['device']}"
        facts = page.b.js(f"""(s => [...s.querySelectorAll('dd')].map(d => d.dataset.v))([...document.querySelectorAll('#panel-memory section')]
                          .find(s => s.querySelector('h2').innerText === '{title}'))""")
        assert str(device["peak_allocated_bytes"]) in facts and str(device["allocations"]) in facts, (facts, device)
    assert page.b.wait("document.querySelector('#panel-memory svg[role=img][aria-label] path')"), "no curve of memory"


def check_modules(page, process):
    text = page.tab("modules")
    wanted = process["tables"]["module"]
    if not wanted:
        assert "No nn.Module" in text
        return
    page.b.js("[...document.querySelectorAll('#panel-modules button')].find(b => b.innerText === 'Open all').click()")
    shown = page.b.js("[...document.querySelectorAll('#panel-modules tbody tr')].map(r => [r.dataset.module, ...[...r.querySelectorAll('td')].map(c => +c.dataset.v)])")
    assert sorted((r[0], r[1]) for r in shown) == sorted((w["path"][:299], w["calls"]) for w in wanted)
    host = {w["path"]: w["host_ns"] / 1000 for w in wanted}
    assert all(close(r[3], host[r[0]]) for r in shown if r[0] in host)


def check_rest(page, process, told):
    text = page.tab("environment")
    for value in (process["host"], str(process["pid"]), *process["facts"].keys()):
        assert value in text, (value, text[:800])
    for kind, count in process["events"].items():
        assert not count or f"{count:,}" in text, (kind, count)
    text = page.tab("missing")
    for sentence in process["missing"] + told["missing"]:
        assert sentence[:150] in text, (sentence, text)
    for reason, count in process["drops"].items():
        assert not count or reason in text, (reason, text)
    text = page.tab("distributed")
    if len(told["processes"]) == 1:
        assert "no ranks to compare" in text
    else:
        ranks = page.table("ranks")
        wanted = [row for p in told["processes"] for row in p["tables"]["nccl"]]
        assert not same_rows(page.table("collectives") or [], wanted, {"name": ("name", 0), "count": ("count", 1), "bytes": ("bytes", 1)})
        assert [close(float(r["mean"][0]), p["step_summary"]["mean_ns"] / 1000) for r, p in zip(ranks, told["processes"])] == [True] * len(ranks)


def check_figures(page, told):
    for index, process in enumerate(told["processes"]):
        if len(told["processes"]) > 1:
            page.choose_process(index)
        for check in (check_overview, check_operators, check_kernels, check_flame, check_timeline, check_memory, check_modules):
            check(page, process)
        check_rest(page, process, told)
    page.clean()


def check_keys(page):
    """By keys alone: the link past everything, the tabs with arrows, Home and End."""
    b = page.b
    b.js("document.activeElement.blur(); scrollTo(0, 0)")
    page.tab("overview")
    b.js("document.getElementById('tab-overview').blur()")
    b.call("Page.bringToFront")
    seen = []
    b.js("document.querySelector('.skip').focus()")
    for _ in range(4):
        seen.append(b.js("document.activeElement.id || document.activeElement.className"))
        b.key("Tab")
    assert seen[0] == "skip" and "theme" in seen and "tab-overview" in seen, seen
    b.js("document.getElementById('tab-overview').focus()")
    for step in range(1, len(KEYS) + 1):
        b.key("ArrowRight")
        key = KEYS[step % len(KEYS)]
        state = b.js("""(() => { const open = [...document.querySelectorAll('[role=tabpanel]')].filter(p => !p.hidden);
                     const tab = document.activeElement;
                     return [tab.id, tab.getAttribute('aria-selected'), open.length, open[0].id, tab.getAttribute('aria-controls')]; })()""")
        assert state == [f"tab-{key}", "true", 1, f"panel-{key}", f"panel-{key}"], state
    for name, key in (("End", KEYS[-1]), ("Home", KEYS[0]), ("ArrowLeft", KEYS[-1])):
        b.key(name)
        assert b.js("document.activeElement.id") == f"tab-{key}", name
    b.key("Home")
    b.key("Tab")
    assert b.js("document.activeElement.id") == "panel-overview", "from the tab into its panel"


def check_roles(page):
    """What a screen reader is told of every view."""
    for key, title in zip(KEYS, TABS):
        page.tab(key)
        nodes = [n for n in page.b.call("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]
        named = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes]
        roles = [role for role, _ in named]
        for role in ("banner", "navigation", "main", "contentinfo", "tablist"):
            assert role in roles, f"{key}: no {role}"
        assert [name for role, name in named if role == "tab"] == TABS
        assert ("tabpanel", title) in named, f"{key}: its panel has no name"
        for role, name in named:
            if role in ("button", "textbox", "searchbox", "combobox", "radio", "checkbox", "region", "tree", "image", "img", "Canvas"):
                assert name.strip(), f"{key}: a {role} without a name"
        assert roles.count("table") == page.b.js("document.querySelectorAll('[role=tabpanel]:not([hidden]) table:not(details:not([open]) table)').length")
        assert page.b.js("document.querySelectorAll('[role=tabpanel]:not([hidden]) h2').length") > 0, key
    ids = page.b.js("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)), "an id twice"


def check_looks(browser, path):
    """Dark and light as the system says, or as chosen; still where motion is not wanted."""
    brightness = "(c => c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3)(getComputedStyle(document.body).backgroundColor)"
    browser.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    page = Page(browser, path)
    assert browser.wait(f"{brightness} < 60")
    assert browser.js("getComputedStyle(document.querySelector('[role=tab]')).transitionDuration") == "0s"
    browser.js("(s => { s.value = 'light'; s.dispatchEvent(new Event('change')); })(document.getElementById('theme'))")
    assert browser.js(brightness) > 200, "the switch wins over the system"
    browser.js("(s => { s.value = 'auto'; s.dispatchEvent(new Event('change')); })(document.getElementById('theme'))")
    browser.media(prefers_color_scheme="light", prefers_reduced_motion="no-preference")
    assert browser.wait(f"{brightness} > 200")
    assert browser.js("getComputedStyle(document.querySelector('[role=tab]')).transitionDuration") != "0s"
    browser.size(380, 700)  # a telephone: nothing but tables and pictures is wider than the page
    for key in KEYS:
        page.tab(key)
        wide = browser.js("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{key}: {wide} pixels too wide"
    browser.size(1440, 900)
    page.clean()


def made(browser, folder):
    path = os.path.join(folder, "made.json")
    made_trace.write(path, steps=12, operators=9)
    html = os.path.join(folder, "made.html")
    told, _ = report([path], html)
    page = Page(browser, html)
    check_figures(page, told)
    check_keys(page)
    check_roles(page)
    check_looks(browser, html)


def hostile(browser, folder):
    path = os.path.join(folder, "tra\"ce'<b> &.json")
    made_trace.write(path, steps=4, operators=6, hostile=True)
    html = os.path.join(folder, "hostile.html")
    told, _ = report([path], html)
    page = Page(browser, html)
    check_figures(page, told)
    for key in KEYS:
        text = page.tab(key)
        assert "\u202e" not in text, f"{key}: turns the text around it"
        assert page.b.js("document.querySelectorAll('main img, main script, main b, main i:not([style]), main iframe').length") == 0, key
    text = page.tab("operators")
    assert made_trace.MARKUP in text and "\\u202eelif" in text and "(65536 bytes)" in text, text[:1500]
    page.clean()


def ranks(browser, folder):
    for rank in range(2):
        made_trace.write(os.path.join(folder, f"rank{rank}.pt.trace.json"), rank=rank, slow=1 + rank)
    html = os.path.join(folder, "ranks.html")
    told, _ = report([folder], html)
    assert len(told["processes"]) == 2 and all(p["tables"]["nccl"] for p in told["processes"])
    page = Page(browser, html)
    check_figures(page, told)
    assert len(page.b.js("[...document.getElementById('process').options].map(o => o.text)")) == 2
    page.tab("distributed")
    assert [row["process"][0][:6] for row in page.table("ranks")] == ["rank 0", "rank 1"]


def nothing(browser, folder):
    """A trace with nothing but the name of a process and one call."""
    path = os.path.join(folder, "nothing.json")
    made_trace.write(path, steps=0)
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    trace["traceEvents"].append({"ph": "X", "cat": "user_annotation", "name": "alone", "pid": 1, "tid": 1, "ts": 5.0, "dur": 0, "args": {}})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)
    html = os.path.join(folder, "nothing.html")
    told, _ = report([path], html)
    page = Page(browser, html)
    check_figures(page, told)
    check_roles(page)
    empty = os.path.join(folder, "empty.json")
    with open(empty, "w", encoding="utf-8") as file:
        file.write('{"traceEvents": []}')
    refused = gpuprof("report", "--html", os.path.join(folder, "empty.html"), empty)
    assert refused.returncode != 0 and refused.stderr.count(b"\n") == 1, refused.stderr
    assert not os.path.exists(os.path.join(folder, "empty.html"))


def simulated(browser, folder):
    """The trainer on the simulated GPU."""
    sim.need()
    out = os.path.join(folder, "out")
    done = sim.run(["-q", "--step", "nvtx:step", "-o", out], ["--steps", "40", "--step-ms", "4"])
    assert done.returncode == 0, done.stderr
    html = os.path.join(folder, "simulated.html")
    told, _ = report([out], html)
    assert told["simulated"]
    check_figures(Page(browser, html), told)


def torch(browser, folder):
    """A training on the CPU by a PyTorch that is there."""
    python = os.environ.get("GPUPROF_TORCH_PYTHON") or sys.executable
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        e2e.skip("no PyTorch")
    out = os.path.join(folder, "out")
    program = os.path.join(e2e.SOURCE, "tests", "e2e", "programs", "train_cpu.py")
    done = subprocess.run([e2e.GPUPROF, "run", "-q", "--skip-first", "3", "--warmup", "1", "--active", "4", "--repeat", "1", "-o", out, "--", python, program, "--steps", "20"],
                          capture_output=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    html = os.path.join(folder, "torch.html")
    told, _ = report([out], html)
    page = Page(browser, html)
    check_figures(page, told)
    text = page.tab("operators")
    assert "aten::" in text and "train_cpu.py" in text
    assert len(told["processes"][0]["tables"]["module"]) > 1
    check_roles(page)


def million(browser, folder):
    path = os.path.join(folder, "million.json")
    events = made_trace.write(path, steps=2000, operators=100, memory=False)
    assert events >= 1_000_000
    html = os.path.join(folder, "million.html")
    told, seconds = report([path], html)
    size = os.path.getsize(html)
    page = Page(browser, html)
    check_figures(page, told)
    print(f"{events} events: {seconds:.1f} s, page of {size / 1e6:.2f} MB")
    assert size < 5_000_000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    inputs = {one.__name__: one for one in (made, hostile, ranks, nothing, simulated, torch, million)}
    parser.add_argument("--only", default=",".join(inputs))
    parser.add_argument("--keep", help="leave the pages in this folder")
    options = parser.parse_args()
    if not executable():
        e2e.skip("no Chromium (apt-get install chromium): the page is looked at in a real browser or not at all")
    with Browser.start() as browser:
        for name in options.only.split(","):
            began = time.monotonic()
            with e2e.Folder("page-" + name) as folder:
                inputs[name](browser, folder)
            print(f"{name}: ok, {time.monotonic() - began:.1f} s", flush=True)


main()
