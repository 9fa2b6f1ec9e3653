#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs grammar_target.py under `gpuprof run` with each interpreter present and checks every stack
that the trace file shows.

usage: run_product_grammar.py [--seconds N] [--python PATH ...]
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))
import e2e  # noqa: E402
from run_grammar import failures  # noqa: E402

INCOMPLETE = "(incomplete stack)"
PYTHON_FRAME = re.compile(r"(.*?)\((\d+)\): (.*)", re.DOTALL)
PARTIAL = 2
# The file cuts longer ones.
LONGEST_NAME = 1000


def frame(name):
    """The shape of name_samples' frames: [is Python, file, line, function]."""
    python = PYTHON_FRAME.fullmatch(name)
    return [1, python[1], int(python[2]), python[3][:LONGEST_NAME]] if python else [0, name, 0, ""]


def stacks(events):
    """Every stack that the samples' rows show, innermost frame first. Consecutive samples of one
    stack are one slice and count once.

    Only from the first to the last time that the target's own loop is on a stack: before it and
    after it runs the interpreter's start and end, which no rule describes."""
    samples = [event for event in events if event.get("cat", "").startswith("cpu_sample")]
    times = [event["ts"] for event in samples if event["name"].endswith(": alone")]
    first, last = min(times, default=0), max(times, default=0)
    rows = {}
    for event in samples:
        rows.setdefault(event["tid"], []).append(event)
    for row in rows.values():
        stack = []
        for event, following in zip(row, row[1:] + [None]):
            if event["ph"] == "B":
                stack.append(event["name"])
            elif stack:
                stack.pop()
            at_rest = following is None or following["ts"] != event["ts"]
            if stack and at_rest and first <= event["ts"] < last:
                yield list(reversed(stack))


def sampled(python, seconds, folder):
    """The trace of one run, or the reason why there is none."""
    run = subprocess.run([e2e.GPUPROF, "run", "-r", "1000", "-o", folder, "--", python, "-B",
                          HERE / "grammar_target.py", str(seconds)],
                         capture_output=True, text=True, stdin=subprocess.DEVNULL)
    files = list(pathlib.Path(folder).glob("*.pt.trace.json.gz"))
    if run.returncode != 0 or not files:
        return None, run.stderr[-2000:]
    events = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as text:
            events += json.load(text)["traceEvents"]
    return events, ""


def check(python, seconds):
    with tempfile.TemporaryDirectory() as folder:
        events, why = sampled(python, seconds, folder)
    if events is None:
        print(f"{python}: no trace: {why}")
        return 1
    lines = []
    for names in stacks(events):
        # What stands in brackets under a stack says how it was taken, it is no frame.
        marks = [name for name in names if name.startswith("(")]
        frames = [frame(name) for name in names if not name.startswith("(")]
        flagged = INCOMPLETE in marks
        lines.append(json.dumps({"flags": PARTIAL * flagged, "partial": 0, "frames": frames}))
    print(f"{python}: ", end="", flush=True)
    return subprocess.run([python, "-B", HERE / "check_frames.py", HERE / "grammar_target.py",
                           str(LONGEST_NAME)],
                          input="\n".join(lines), encoding="utf-8").returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--python", nargs="*", help="interpreters (default: all that are found)")
    args = parser.parse_args()
    failed = failures(args.python, lambda python: check(python, args.seconds))
    print(f"run_product_grammar: {failed} interpreters failed" if failed else
          "run_product_grammar: ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
