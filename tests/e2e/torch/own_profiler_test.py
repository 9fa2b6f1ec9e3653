# SPDX-License-Identifier: Apache-2.0
"""A program's own torch.profiler sees, records and says the same under gpuprof: one whole recording, and
windows that open and close before, during and after its sessions.

usage: own_profiler_test.py"""

import collections
import json
import os
import sys

import e2e
import torch_programs as programs

RUNS = {"whole run": [], "many windows": programs.MANY_WINDOWS}


def sessions(folder):
    with open(os.path.join(folder, "events.json"), encoding="utf-8") as file:
        return [collections.Counter(session) for session in json.load(file)]


def listing(counter):
    return "\n    ".join("%d × %s" % (n, what) for what, n in counter.most_common(8))


def compare(checks, name, profiled, without):
    checks.equal(len(profiled), len(without), name + ": sessions")
    for number, (one, other) in enumerate(zip(profiled, without)):
        missing, extra = other - one, one - other
        checks.expect(not missing and not extra,
                      "%s, session %d: %d of %d events missing\n    %s\n  %d extra\n    %s" % (
                          name, number, sum(missing.values()), sum(other.values()), listing(missing),
                          sum(extra.values()), listing(extra)))
        memory = sum(n for what, n in one.items() if "[memory]" in what)
        checks.expect(memory > 0, name + ": its sessions hold memory")
        print("%s, session %d: %d events, %d of memory, %d missing, %d extra" % (
            name, number, sum(one.values()), memory, sum(missing.values()), sum(extra.values())),
            flush=True)


def main():
    python = programs.python_with_torch()
    checks = e2e.Checks()
    with e2e.Folder("torch-own-profiler") as folder:
        line = programs.command(python, "own_profiler.py", folder)
        without = programs.run_plain(line)
        checks.equal(without.returncode, 0, without.stderr.decode()[-1000:])
        wanted = sessions(folder)
        programs.run_plain(line)
        compare(checks, "without us, twice", sessions(folder), wanted)  # else nothing is proved
        for name, options in RUNS.items():
            profiled = programs.run_profiled(["-f", "-o", os.path.join(folder, "out"), *options], line)
            checks.equal(profiled.returncode, 0, name + ": status")
            checks.equal(profiled.stdout, without.stdout, name + ": stdout")
            checks.equal(programs.parse_pairs(profiled.stderr), programs.parse_pairs(without.stderr),
                         name + ": stderr")
            compare(checks, name, sessions(folder), wanted)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
