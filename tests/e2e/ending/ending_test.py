# SPDX-License-Identifier: Apache-2.0
"""Python ends while a daemon thread launches kernels, or runs operators, without the GIL: the thread's state is freed
and its memory used again under it. The program ends as it does alone, and what it did before has its stack.

usage: ending_test.py [--torch]"""

import json
import os
import subprocess
import sys

import e2e
import pythons
import sim
import torch_python

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "programs", "ending.py")
WORK = os.path.join(e2e.BUILD, "ending", "work.so")
STATUS = 5
BLOCKS = 600
ALLOCATES = "import torch\nfor _ in range(%d): torch.ones(64, 64)\n" % BLOCKS
# What is recorded, and which Python frame stands over it.
LAUNCHES = ("launches", "cuLaunchKernel", "inner")
OPERATORS = ("operators", "aten::add_", "<lambda>")


def words(python, how):
    command = [python, PROGRAM, WORK, how]
    return command if how == "operators" else [sim.GPUSIM_RUN, "--quiet", "--", *command]


def has_stacks(folder, name, function):
    return any(function in event["args"].get("Call stack", "") for path in e2e.traces(folder)
               for event in e2e.load(path)["traceEvents"] if event.get("name") == name)


def check(checks, python, how, name, function):
    label = "%s under %s" % (how, python)
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    alone = subprocess.run(words(python, how), env=environment, capture_output=True, timeout=600, check=False)
    if not checks.equal((alone.returncode, alone.stderr), (STATUS, b""), label + ": alone"):
        return
    with e2e.Folder("ending") as folder:
        done = e2e.gpuprof(["-q", "-o", folder], words(python, how), env=environment)
        checks.equal((done.returncode, done.stdout, done.stderr), (STATUS, alone.stdout, b""), label)
        checks.expect(has_stacks(folder, name, function), label + ": no %s has its stack" % name)


def memory(checks, python):
    """What was recorded to the end is not reported as missing."""
    with e2e.Folder("ending-memory") as folder:
        summary = os.path.join(folder, "summary.json")
        done = e2e.gpuprof(["-q", "-o", folder, "--summary-json", summary], [python, "-c", ALLOCATES])
        with open(summary, encoding="utf-8") as file:
            missing = json.load(file)["missing"]
        checks.equal((done.returncode, [one for one in missing if "CPU is not recorded" in one]), (0, []), "memory: what is missing")
        records = sum(event.get("name") == "[memory]" for path in e2e.traces(folder) for event in e2e.load(path)["traceEvents"])
        checks.expect(records >= 2 * BLOCKS, "memory: %d records of %d blocks" % (records, BLOCKS))


def main():
    if not os.path.exists(WORK):
        e2e.skip("not built: " + WORK)
    checks = e2e.Checks()
    if "--torch" in sys.argv:
        check(checks, torch_python.python_with_torch(), *OPERATORS)
        memory(checks, torch_python.python_with_torch())
    else:
        sim.require_build()
        for python in pythons.supported_interpreters():
            check(checks, python, *LAUNCHES)
    checks.done()


if __name__ == "__main__":
    main()
