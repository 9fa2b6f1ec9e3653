# SPDX-License-Identifier: Apache-2.0
"""Each launch has the Python stack that it came from, also where thousands come from the same native one."""

import collections
import json
import os
import re

import e2e
import pythons
import sim

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "launch_programs", "many_places.py")
ROUNDS, LAUNCHES = 120, 21  # of each thread, and in each round
FRAME = re.compile(r"\((\d+)\): (.+)$")


def stack_of(text):
    """(function, line) of the program's frames, innermost first, without launch() and what it calls."""
    frames = [(found.group(2).rsplit(".", 1)[-1], int(found.group(1)))
              for found in map(FRAME.search, text.split(";")) if found and ".py(" in text]
    names = [name for name, _ in frames]
    return tuple(frames[names.index("launch") + 1:]) if "launch" in names else None


def check(checks, python):
    with e2e.Folder("launch-stacks") as folder:
        table = os.path.join(folder, "stacks.json")
        done = e2e.gpuprof(["-o", folder], [sim.GPUSIM_RUN, "--quiet", "--", python, PROGRAM, str(ROUNDS), table])
        name = os.path.basename(os.path.dirname(os.path.dirname(python)))
        if not checks.equal(done.returncode, 0, name + ": " + done.stderr.decode()[-500:]):
            return
        with open(table, encoding="utf-8") as file:
            stacks = {number: tuple(map(tuple, stack)) for number, stack in json.load(file)}
        events = e2e.load(e2e.traces(folder)[0])["traceEvents"]
    number_of = {e["args"]["correlation"]: e["args"]["grid"][0] for e in events if e.get("cat") == "kernel"}
    calls = [e["args"] for e in events if e.get("name") == "cuLaunchKernel"]
    verdicts = collections.Counter()
    for call in calls:
        wanted = stacks.get(number_of.get(call["correlation"]))
        seen = stack_of(call.get("Call stack", ""))
        verdicts["right" if seen == wanted else "wrong: %s is %s" % (wanted, seen)] += 1
    print("  Python %s: %d launches from %d places: %s" % (name, len(calls), len(stacks), verdicts.most_common(3)))
    drops = b"drops: none" not in done.stderr
    checks.expect(drops or len(calls) == 3 * ROUNDS * LAUNCHES, "%s: %d launches" % (name, len(calls)))
    checks.expect(len(stacks) > 40, name + ": places")
    checks.equal(set(verdicts), {"right"}, name + ": each launch has its stack")


def main():
    sim.require_build()
    checks = e2e.Checks()
    for python in pythons.supported_interpreters():
        check(checks, python)
    checks.done()


if __name__ == "__main__":
    main()
