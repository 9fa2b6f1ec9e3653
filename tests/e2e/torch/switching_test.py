#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The observer is switched on and off, at all its levels, while four threads of a real PyTorch train
and raise exceptions: no crash, no other loss, no memory that grows with the switches, and nothing is
left registered that would cost anything.

usage: switching_test.py [--times N]"""

import argparse
import os
import subprocess
import sys

import e2e
import torch_programs as programs

HARNESS = os.path.join(e2e.BUILD, "bench", "liboperators_harness.so")
GROWTH_KB = 20_000  # threads and the cache of names settle; a leak of 32 bytes a switch is above it


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=40_000)
    times = parser.parse_args().times
    python = programs.python_with_torch()
    if not os.path.exists(HARNESS):
        print("skipped: %s is not built" % HARNESS)
        sys.exit(77)
    checks = e2e.Checks()
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "switching.py")
    ended = subprocess.run([python, program, HARNESS, str(times)], capture_output=True, text=True,
                           timeout=600 + times // 400, check=False)
    checks.equal(ended.returncode, 0, "status; " + ended.stderr[-1000:])
    print(ended.stdout)
    output = dict(line.split(": ") for line in ended.stdout.splitlines() if ": " in line)
    checks.equal(output.get("switches"), str(times), "switches")
    checks.expect(int(output.get("steps", 0)) > 200, "the threads got on")
    checks.equal(output.get("refused"), output.get("steps"), "exceptions stay the program's")
    checks.equal(output.get("losses changed"), "0", "losses that differ from those without it")
    checks.equal(output.get("operators while it is on"), "1", "operators while it is on")
    checks.equal(output.get("ends without a begin in their thread"), "0", "ends of a quiet thread")
    checks.equal(output.get("operators after the end"), "0", "operators after it was switched off")
    early, late = map(int, output.get("resident kB after a tenth and at the end", "0 999999999").split())
    checks.expect(late - early < GROWTH_KB, "it grew by %d kB" % (late - early))
    sys.exit(checks.done())


if __name__ == "__main__":
    main()
