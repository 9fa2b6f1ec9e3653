# SPDX-License-Identifier: Apache-2.0
"""No step is lost while the daemon gets no processor: more operators are dropped than recorded, marks of steps are not.

usage: starved_test.py [--steps N] [--python PATH] [--keep FOLDER]"""

import argparse
import os

import e2e
import steps_test
import torch_trace
from torch_python import python_with_torch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500, help="while the daemon stands still")
    parser.add_argument("--python")
    parser.add_argument("--keep")
    wanted = parser.parse_args()
    python = python_with_torch(wanted.python)
    checks = e2e.Checks()
    with e2e.Folder("starved") as temporary:
        folder = wanted.keep or temporary
        os.makedirs(folder, exist_ok=True)
        done, truth, paths = steps_test.run(python, "starved.py --steps %d" % wanted.steps, folder, steps_test.WHOLE)
        checks.equal(done.returncode, 0, "status: " + done.stderr.decode()[-800:])
        if not checks.equal(len(paths), 1, "files"):
            raise SystemExit(checks.done())
        trace = torch_trace.read_gpuprof(paths)
        lost = trace.heads[0]["dropped"].get("ring full", {}).get("in this window", 0)
        print("%d steps of %d; %d operators recorded, %d records lost: %s" % (
            len(trace.steps), len(truth), len(trace.operators), lost, trace.heads[0]["missing"]))
        checks.expect(lost > 50 * wanted.steps, "the daemon stood still, and records were lost: %d" % lost)
        checks.equal(len(trace.steps), len(truth), "steps")
        gaps = [step.label for i, step in enumerate(trace.steps) if step.label != i + 1]
        checks.expect(not gaps, "numbers without gaps: the first that is off is %s" % gaps[:1])
        # Each mark was made inside of its step.
        wrong = [i + 1 for i, (step, (begin, end)) in enumerate(zip(trace.steps[1:], truth[1:]))
                 if not truth[i][1] - 1 <= step.start <= end]
        checks.expect(not wrong, "begins are in their own steps: %s" % wrong[:5])
    checks.done()


if __name__ == "__main__":
    main()
