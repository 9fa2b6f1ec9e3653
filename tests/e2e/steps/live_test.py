# SPDX-License-Identifier: Apache-2.0
"""A schedule in steps on training programs nobody edited: exactly the requested steps, one file a window.

usage: live_test.py [--only NAME,…] [--python PATH] [--keep FOLDER]"""

import argparse
import os
import sys

import e2e
import judge
import steps_test
import torch_trace

SCHEDULE = ["--wait", "2", "--warmup", "1", "--active", "3", "--repeat", "2"]
# A busy machine needs longer to its first step than is waited for one by default.
PATIENT = ["--step-timeout", "600s"]
# Where it had no processor for long, gpuprof says that it recorded other steps, or the program was late.
TRIES = 4
FIRST_S = 4.9  # a little less than is in the file of a program without steps
# name: (program, arguments before the schedule, first labels of the two windows)
CASES = {
    "mlp": ("long.py mlp 8000", [], (4, 10)),
    "mlp-late": ("long.py mlp 20000", ["--skip-first", "12000"], (12004, 12010)),
    "transformer": ("long.py transformer 120", [], (4, 10)),
    "transformer-late": ("long.py transformer 150", ["--skip-first", "90"], (94, 100)),
    "convolution": ("long.py convolution 1000", [], (4, 10)),
    "loader": ("loader.py --epochs 40 --evaluate", [], (4, 10)),
}


def windows(checks, name, python, folder):
    command, before, labels = CASES[name]
    for _ in range(TRIES):
        done, truth, paths = steps_test.run(python, command, folder, before + SCHEDULE + PATIENT)
        if b"instead of step" not in done.stderr:
            break
        print("%s: %s" % (name, done.stderr.decode()[-800:]), flush=True)
    checks.equal(done.returncode, 0, name + ": status")
    if not checks.equal(len(paths), 2, "%s: files (%s)" % (name, done.stderr.decode()[-800:])):
        return
    for path, label in zip(paths, labels):
        trace = torch_trace.read_gpuprof([path])
        wrong = judge.check_steps(truth, trace, first=label - 1, count=3, label=label)
        checks.expect(not wrong, "%s, window at %d: %s" % (name, label, "; ".join(wrong[:4])))
        outside = judge.outside(trace, truth, label + 2)
        checks.expect(not outside, "%s, window at %d: %d operators outside of its steps, first %s"
                      % (name, label, len(outside), outside[:1]))
        print("%s: steps %s, %d operators" % (name, [s.label for s in trace.steps],
                                              len(trace.operators)), flush=True)


def late(checks, python, folder):
    """Training begins when the provisional recording is over. The first steps are not to be had
    then; the files hold whole steps with their true numbers, and the summary says which."""
    done, truth, paths = steps_test.run(python, "long.py transformer 200 7", folder, SCHEDULE + PATIENT)
    checks.equal(done.returncode, 0, "late: status")
    checks.expect(paths, "late: files (%s)" % done.stderr.decode()[-800:])
    for path in paths:
        trace = torch_trace.read_gpuprof([path])
        label = trace.steps[0].label if trace.steps else 0
        wrong = judge.check_steps(truth, trace, first=label - 1, count=3, label=label)
        checks.expect(label and not wrong, "late, window at %d: %s" % (label, "; ".join(wrong[:4])))
        reported = label in (4, 10) or b"instead of step" in done.stderr
        checks.expect(reported, "late: nothing says that other steps were recorded: %s" % done.stderr)
        print("late: steps %s" % [s.label for s in trace.steps], flush=True)


def stepless(checks, python, folder, program, expected):
    """No step: the first five seconds are the file, and everything says so. The program prints how late it did what is
    to be in them."""
    for _ in range(TRIES):
        done, _, paths = steps_test.run(python, "stepless.py " + program, folder, SCHEDULE)
        if done.returncode != 0 or float(done.stdout) < FIRST_S:
            break
    checks.equal(done.returncode, 0, program + ": status")
    checks.expect(b"no step" in done.stderr,
                  "%s: the summary says that no step was seen: %s" % (program, done.stderr[-800:]))
    if checks.equal(len(paths), 1, program + ": files"):
        trace = torch_trace.read_gpuprof(paths)
        names = {o.name for o in trace.operators}
        checks.equal(trace.steps, [], program + ": steps")
        for name, there in expected.items():
            checks.equal(name in names, there, "%s: %s in the file" % (program, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(CASES) + ",late,stepless")
    parser.add_argument("--python")
    parser.add_argument("--keep")
    wanted = parser.parse_args()
    python = steps_test.python_with_torch(wanted.python)
    checks = e2e.Checks()
    with e2e.Folder("live") as folder:
        def directory_name(name):
            path = os.path.join(wanted.keep or folder, name)
            os.makedirs(path, exist_ok=True)
            return path
        for name in wanted.only.split(","):
            if name in CASES:
                windows(checks, name, python, directory_name(name))
        if "late" in wanted.only.split(","):
            late(checks, python, directory_name("late"))
        if "stepless" in wanted.only.split(","):
            stepless(checks, python, directory_name("straight"), "straight", {"aten::linalg_cholesky_ex": True})
            stepless(checks, python, directory_name("lasting"), "lasting",
                     {"aten::mm": True, "aten::linalg_det": False})
        if checks.failed and not wanted.keep:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
