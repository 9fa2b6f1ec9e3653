#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuprof report --html in a real Chromium: from disk with the network off, every view against the figures
of gpuprof report --json of the same input, by keys alone, in the dark, and with names meant to break it."""

import json
import os
import subprocess
import sys
import time

import e2e
import made_trace
import page_runs
import sim
from page_checks import check_figures
from page_conduct import check_keys, check_looks, check_roles
from page_reader import Page
from page_runs import gpuprof

TABS = ["Overview", "Operators", "Kernels", "Flame graph", "Timeline", "Memory", "Modules", "Distributed",
        "Run environment", "What is missing and why"]
KEYS = ["overview", "operators", "kernels", "flame", "timeline", "memory", "modules", "distributed", "environment", "missing"]


def report(source, page):
    """The page of an input, and the figures of the same one."""
    began = time.monotonic()
    done = gpuprof("report", "-q", "--html", page, "-f", *source)
    seconds = time.monotonic() - began
    assert done.returncode == 0, done.stderr.decode()
    result = gpuprof("report", "-q", "--json", *source)
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout), seconds


def made(browser, folder):
    path = os.path.join(folder, "made.json")
    made_trace.write(path, steps=12, operators=9)
    html = os.path.join(folder, "made.html")
    result, _ = report([path], html)
    page = Page(browser, html)
    check_figures(page, result)
    check_keys(page, KEYS)
    check_roles(page, KEYS, TABS)
    check_looks(browser, html, KEYS)


def hostile(browser, folder):
    path = os.path.join(folder, "tra\"ce'<b> &.json")
    made_trace.write(path, steps=4, operators=6, hostile=True)
    html = os.path.join(folder, "hostile.html")
    result, _ = report([path], html)
    page = Page(browser, html)
    check_figures(page, result)
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
    result, _ = report([folder], html)
    assert len(result["processes"]) == 2 and all(p["tables"]["nccl"] for p in result["processes"])
    page = Page(browser, html)
    check_figures(page, result)
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
    result, _ = report([path], html)
    page = Page(browser, html)
    check_figures(page, result)
    check_roles(page, KEYS, TABS)
    empty = os.path.join(folder, "empty.json")
    with open(empty, "w", encoding="utf-8") as file:
        file.write('{"traceEvents": []}')
    refused = gpuprof("report", "--html", os.path.join(folder, "empty.html"), empty)
    assert refused.returncode != 0 and refused.stderr.count(b"\n") == 1, refused.stderr
    assert not os.path.exists(os.path.join(folder, "empty.html"))


def simulated(browser, folder):
    """The trainer on the simulated GPU."""
    sim.require_build()
    out = os.path.join(folder, "out")
    done = sim.run(["-q", "--step", "nvtx:step", "-o", out], ["--steps", "40", "--step-ms", "4"])
    assert done.returncode == 0, done.stderr
    html = os.path.join(folder, "simulated.html")
    result, _ = report([out], html)
    assert result["simulated"]
    check_figures(Page(browser, html), result)


def torch(browser, folder):
    """A training on the CPU by a PyTorch that is there."""
    python = os.environ.get("GPUPROF_TORCH_PYTHON") or sys.executable
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        e2e.skip("no PyTorch")
    out = os.path.join(folder, "out")
    program = os.path.join(e2e.SOURCE, "tests", "e2e", "programs", "train_cpu.py")
    done = subprocess.run([e2e.GPUPROF, "run", "-q", "--skip-first", "3", "--warmup", "1", "--active", "4", "--repeat", "1", "--step-timeout", "600s", "-o", out, "--", python, program, "--steps", "20"],
                          capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    html = os.path.join(folder, "torch.html")
    result, _ = report([out], html)
    page = Page(browser, html)
    check_figures(page, result)
    text = page.tab("operators")
    assert "aten::" in text and "train_cpu.py" in text
    assert len(result["processes"][0]["tables"]["module"]) > 1
    check_roles(page, KEYS, TABS)


def million(browser, folder):
    path = os.path.join(folder, "million.json")
    events = made_trace.write(path, steps=2000, operators=100, memory=False)
    assert events >= 1_000_000
    html = os.path.join(folder, "million.html")
    result, seconds = report([path], html)
    size = os.path.getsize(html)
    page = Page(browser, html)
    check_figures(page, result)
    print(f"{events} events: {seconds:.1f} s, page of {size / 1e6:.2f} MB")
    assert size < 5_000_000


page_runs.main(__doc__, made, hostile, ranks, nothing, simulated, torch, million)
