#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples grammar_target.py under each interpreter present and checks every stack.

usage: run_grammar.py PROBE.so NAME_SAMPLES [--samples N] [--python PATH ...]
"""
import argparse
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MINORS = range(8, 15)


def interpreters():
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = {}
    for minor in MINORS:
        paths = glob.glob(f"{root}/versions/3.{minor}.*/bin/python3.{minor}")
        paths += glob.glob(f"/usr/bin/python3.{minor}")
        found[minor] = sorted(paths)
    # Others, wherever they are: paths with a colon between them.
    found[0] = [path for path in os.environ.get("GPUPROF_PYTHONS", "").split(":") if path]
    return found


def check(python, args, work):
    """One interpreter: 0 if its stacks hold."""
    out = pathlib.Path(work, "samples")
    sampled = subprocess.run([python, "-B", HERE / "grammar_target.py", args.probe, out,
                              str(args.samples)], capture_output=True, text=True)
    notes = sampled.stderr.strip().splitlines()
    print(f"{python}: {notes[-1] if notes else 'nothing said'}", flush=True)
    if sampled.returncode != 0:
        print(sampled.stderr[-2000:])
        return 1
    named = pathlib.Path(work, "named")
    with open(named, "wb") as file:
        subprocess.run([args.name_samples, out], stdout=file, check=True)
    with open(named, "rb") as file:
        return subprocess.run([python, "-B", HERE / "check_frames.py", HERE / "grammar_target.py"],
                              stdin=file).returncode


def check_in_a_folder(python, args):
    with tempfile.TemporaryDirectory() as work:
        return check(python, args, work)


def failures(chosen, check_one):
    """How many of the chosen interpreters, or of all there are, do not hold."""
    failed = 0
    for minor, paths in ({0: chosen} if chosen else interpreters()).items():
        if not paths and minor:
            print(f"SKIPPED: no python3.{minor} here")
        for python in paths:
            failed += check_one(python)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("probe")
    parser.add_argument("name_samples")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--python", nargs="*", help="interpreters (default: all that are found)")
    args = parser.parse_args()
    failed = failures(args.python, lambda python: check_in_a_folder(python, args))
    print(f"run_grammar: {failed} interpreters failed" if failed else "run_grammar: ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
