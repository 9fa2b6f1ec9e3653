#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of docs/real-programs.md from what `real_programs.py --json` wrote.

usage: table.py FILE.json..."""

import collections
import json
import sys


def counts(outcome):
    """passed/failed/skipped of one run; what is none of these has failed."""
    states = collections.Counter(outcome["tests"].values())
    passed, skipped = states["passed"], states["skipped"]
    return f"{passed}/{sum(states.values()) - passed - skipped}/{skipped}"


def rows(program):
    """The lines of one program: one for each mode."""
    plain = program["plain"]
    wall_s = sum(run["wall_s"] for run in plain) / len(plain)
    steady = set(plain[0]["hashes"]) - set(program["flaky"])
    for mode, part in program["modes"].items():
        profiled = part["outcome"]
        same = sum(profiled["hashes"].get(name) == plain[0]["hashes"][name] for name in steady)
        outputs = f"{same} of {len(steady)}" if steady else "–"
        how = f"{mode}, {profiled['attached']} times" if mode == "attach" else mode
        lines = (f"{program['name']} ({program['version']})", how, len(plain[0]["tests"]), counts(plain[0]), counts(profiled),
                 len(part["real"]), len(part["once"]), len(program["flaky"]) + len(part["flaky"]), outputs,
                 f"{wall_s:.0f} s", f"{profiled['wall_s'] / wall_s:.2f}", profiled["samples"])
        yield "| " + " | ".join(map(str, lines)) + " |"


def main():
    print("| program | mode | tests | plain p/f/s | under gpuprof p/f/s | different | seen once | flaky | "
          "outputs identical | plain | ratio | samples |")
    print("|---" * 12 + "|")
    for path in sys.argv[1:] or sys.exit(__doc__):
        with open(path, encoding="utf-8") as file:
            for program in json.load(file)["programs"]:
                print(*rows(program), sep="\n")


if __name__ == "__main__":
    main()
