# SPDX-License-Identifier: Apache-2.0
"""gpuprof attach to Python programs that fork all the time. From 3.12 on the interpreter warns on
stderr where it counts a second thread after a fork: it never does. Where the program works between
its forks it is recorded; where it does nearly nothing but fork
the command may say that it cannot.

usage: forks_test.py [--times N]"""

import argparse
import os

import attached
import e2e

COUNTING = ("3.12", "3.13", "3.14")


def one(checks, folder, python, what, work_s):
    """True if it was recorded."""
    program = attached.Program([python, os.path.join(attached.PROGRAMS, "forks.py"), str(work_s)], folder, what)
    with program:
        recording = attached.record(["attach", str(program.pid), "-d", "1s"], os.path.join(folder, what))
        status = program.end()
    checks.equal((status, program.errors()), (0, ""), what + ": its end and stderr")
    checks.expect("ok " in program.text(), what + ": " + program.text())
    if recording.status != 0:
        checks.expect(work_s < 0.1 and "forks" in recording.stderr, "%s: %s" % (what, recording.stderr))
        return False
    # Each fork ends the worker, and what it had begun to sample: short work has no samples.
    if work_s >= 0.1:
        names = [e["name"] for e in e2e.load(recording.paths[0])["traceEvents"] if e.get("ph") == "B"]
        checks.expect(any("forks.py(" in name for name in names), "%s: no frame of it among %d" % (what, len(names)))
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2)
    times = parser.parse_args().times
    attached.need()
    checks = e2e.Checks()
    with e2e.Folder("attach-forks") as folder:
        for version in COUNTING:
            python = e2e.real_python("python" + version)
            if python is None:
                checks.skip("no python%s here" % version)
                continue
            for work_s in (0, 0.01, 0.1):
                recorded = [one(checks, folder, python, "%s-%g-%d" % (version, work_s, i), work_s)
                            for i in range(times)]
                print("%s, %g s of work between forks: recorded %d of %d" % (version, work_s, sum(recorded), times),
                      flush=True)
    checks.done()


if __name__ == "__main__":
    main()
