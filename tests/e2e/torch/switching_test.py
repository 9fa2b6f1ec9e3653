#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The observer is switched on and off, at all its levels, tens of thousands of times while four
threads of a real PyTorch run forward and backward and raise exceptions: no crash, every operator
that is seen is seen whole, and nothing is left registered that would cost anything.

usage: switching_test.py"""

import os
import subprocess
import sys

import e2e
import torch_programs as programs

HARNESS = os.path.join(e2e.BUILD, "bench", "liboperators_harness.so")


def main():
    python = programs.python_with_torch()
    if not os.path.exists(HARNESS):
        print("skipped: %s is not built" % HARNESS)
        sys.exit(77)
    checks = e2e.Checks()
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "switching.py")
    ended = subprocess.run([python, program, HARNESS], capture_output=True, text=True, timeout=240,
                           check=False)
    checks.equal(ended.returncode, 0, "status; " + ended.stderr[-1000:])
    print(ended.stdout)
    said = dict(line.split(": ") for line in ended.stdout.splitlines() if ": " in line)
    checks.expect(int(said.get("switches", 0)) > 500, "it was switched often")
    checks.expect(int(said.get("steps", 0)) > 20, "the threads got on")
    checks.equal(said.get("ends without a begin in their thread"), "0", "ends of a quiet thread")
    checks.equal(said.get("operators after the end"), "0", "operators after it was switched off")
    sys.exit(checks.done())


if __name__ == "__main__":
    main()
