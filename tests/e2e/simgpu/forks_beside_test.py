# SPDX-License-Identifier: Apache-2.0
"""A Python that counts threads after a fork: the worker thread is gone then, and comes back where another thread than the one
that forked goes on launching (on the simulated GPU).

usage: forks_beside_test.py"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import e2e  # noqa: E402
import sim  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch_programs", "forks_beside.py")
FEW = 20


def samples_after(trace, mono_ns):
    zero_ns = trace["gpuprof"]["window"]["start_ns"]
    stacks = [e for e in trace["traceEvents"] if e.get("ph") == "B"]
    first = min((e["ts"] for e in stacks), default=0)
    return sum((e["ts"] - first) * 1000 + zero_ns > mono_ns for e in stacks)


def check(checks, version):
    python = e2e.real_python("python" + version)
    if python is None:
        return checks.skip("no Python %s here" % version)
    with e2e.Folder("forks-beside") as folder:
        done = e2e.gpuprof(["-r", "500", "-o", folder],
                           [sim.GPUSIM_RUN, "--quiet", "--", python, "-W", "ignore", PROGRAM])
        stderr = done.stderr.decode()
        forked = re.search(r"forked before (\d+)", done.stdout.decode())
        if not checks.expect(done.returncode == 0 and forked, "Python %s: %s" % (version, stderr[-900:])):
            return
        (path,) = e2e.traces(folder)
        after = samples_after(e2e.load(path), int(forked.group(1)))
        checks.expect(after > FEW, "Python %s: %d frames of samples after the fork" % (version, after))


def main():
    checks = e2e.Checks()
    for version in ("3.11", "3.12", "3.13"):
        check(checks, version)
    checks.done()


if __name__ == "__main__":
    main()
