#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuprof report, as text and as a page, of a trace of a million events, beside json.load of the same file.

Each in a process of its own, in turn, so that all see the same machine; printed: the quickest and the
median of the rounds in seconds, and the most memory one of them held.

usage: page_bench.py GPUPROF [--events N] [--rounds N]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "page"))
import made_trace  # noqa: E402

EVENTS_OF_A_STEP = 501  # of made_trace, with 100 operators and no memory


def run(command):
    """Seconds, and MB held at most."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, said.decode()
    return time.monotonic() - began, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpuprof")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="page-bench-") as folder:
        trace, page = os.path.join(folder, "trace.json"), os.path.join(folder, "page.html")
        events = made_trace.write(trace, steps=-(-options.events // EVENTS_OF_A_STEP), operators=100, memory=False)
        commands = {"json.load": [sys.executable, "-c", "import json,sys; json.load(open(sys.argv[1]))", trace],
                    "report": [options.gpuprof, "report", "-q", trace],
                    "report --html": [options.gpuprof, "report", "-q", "-f", "--html", page, trace]}
        results = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                results[name].append(run(command))
        print(f"{events} events, {os.path.getsize(trace) / 1e6:.0f} MB of JSON; page {os.path.getsize(page) / 1e6:.2f} MB")
        for name, runs in results.items():
            seconds = [r[0] for r in runs]
            print(f"{name:14} quickest {min(seconds):5.2f} s  median {statistics.median(seconds):5.2f} s  memory {max(r[1] for r in runs):5.0f} MB")


main()
