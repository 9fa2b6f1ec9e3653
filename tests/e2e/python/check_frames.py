#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks named stacks (name_samples' output) against the grammar of grammar_target.py.

Every Python frame must lie in a known file, on a line of its function; the line of each caller
must name its callee; the outermost frame must be a known root. Run it with the interpreter that
was sampled: the lines of a function are that interpreter's.

usage: check_frames.py TARGET [LONGEST_NAME] < SAMPLES
                                            one summary line in JSON; exit status 1 on failure
"""
import collections
import dis
import json
import os
import re
import sys
import sysconfig

ARROW = re.compile(r"#>(.*)$")
MAX_WRONG = 0.001  # of the stacks, and all of them flagged
LONGEST_NAME = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
# Functions of the target that the standard library calls.
CALLED_BY_STDLIB = {"worker", "gathers", "awaits"}
ROOTS = {"<module>", "_bootstrap"}
# What the interpreter itself calls when the target has ended.
AT_EXIT = {"_shutdown", "shutdown", "_python_exit", "_exit_function", "_run_exitfuncs"}


def last(name):
    """The name without what 3.11+ puts in front of it."""
    return name[-1:] if name.endswith(".") else re.split(r"\.(?![^<]*>)", name)[-1]


def lines_of(code, into):
    lines = {code.co_firstlineno} | {line for _, line in dis.findlinestarts(code)
                                     if line is not None}
    if hasattr(code, "co_lines") and any(line is None for _, _, line in code.co_lines()):
        lines.add(0)  # instructions that the compiler gave no line
    into[code.co_name[:LONGEST_NAME]] |= lines
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            lines_of(constant, into)


class File:
    def __init__(self, name, source):
        self.lines = collections.defaultdict(set)
        lines_of(compile(source, name, "exec"), self.lines)
        self.calls = {}
        for number, text in enumerate(source.splitlines(), 1):
            found = ARROW.search(text)
            if found:
                self.calls[number] = {word[:LONGEST_NAME] for word in found[1].split()}


def constant(source, name):
    """The text that the target gives to exec."""
    scope = {}
    start = source.index("\n" + name + " = ") + 1
    end = source.index("\nexec(" if name == "LONG" else "\n\n\ndef executes", start)
    exec(source[start:end], scope)
    return scope[name]


def load(path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    return {path: File(path, source), "<made>": File("<made>", constant(source, "MADE")),
            "<long>": File("<long>", constant(source, "LONG"))}


def is_stdlib(file):
    # <string>: what the standard library itself compiles, such as named tuples.
    return file.startswith((sysconfig.get_paths()["stdlib"], "<frozen ")) or file == "<string>"


def fault_of(files, frames):
    """What is wrong with a stack, innermost first, or None."""
    for inner, (file, line, name) in enumerate(frames):
        known = files.get(file)
        callee = frames[inner - 1] if inner else None
        if known is None:
            if not is_stdlib(file):
                return "unknown file"
            if callee and callee[0] in files and last(callee[2]) not in CALLED_BY_STDLIB:
                return "the standard library does not call this"
            continue
        if line not in known.lines.get(last(name), ()):
            return "line is not of this function"
        if callee is None:
            continue
        wanted = "stdlib" if callee[0] not in files else last(callee[2])
        if wanted not in known.calls.get(line, ()):
            return "this line does not call that"
    file, _, name = frames[-1]
    rooted = last(name) in ROOTS or (is_stdlib(file) and last(name) in AT_EXIT)
    return None if rooted else "no root"


def most_wrong(stacks):
    """As many as a share of MAX_WRONG may show among so few: the mean and three deviations."""
    mean = MAX_WRONG * stacks
    return mean + 3 * mean ** 0.5


def main():
    files = load(os.path.abspath(sys.argv[1]))
    counts = collections.Counter()
    examples = {}
    for text in sys.stdin:
        sample = json.loads(text)
        frames = [tuple(frame[1:]) for frame in sample["frames"] if frame[0]]
        if not frames and not sample["flags"] & 2:
            counts["without Python"] += 1
            continue
        counts["stacks"] += 1
        counts["frames"] += len(frames)
        counts["partial"] += bool(sample["flags"] & 2)
        counts["not fitting"] += sample["partial"]
        fault = fault_of(files, frames) if frames else "no frames"
        if fault is None:
            continue
        counts["wrong"] += 1
        if not sample["flags"] & 2:
            counts["wrong and not flagged"] += 1
            examples.setdefault(fault, sample)
    passed = (counts["stacks"] > 0 and counts["wrong"] <= most_wrong(counts["stacks"])
              and counts["wrong and not flagged"] == 0)
    print(json.dumps(dict(counts, python=sys.version.split()[0], passed=passed)))
    for fault, sample in examples.items():
        print(fault, json.dumps(sample)[:1500], file=sys.stderr)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
