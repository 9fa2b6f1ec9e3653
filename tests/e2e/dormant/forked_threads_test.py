# SPDX-License-Identifier: Apache-2.0
"""A forked Python child whose first thread only waits for the threads that work is recorded like any other.

usage: forked_threads_test.py"""

import os
import re

import e2e

CHILD_WORKS_IN_THREADS = """
import os, threading, time
def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
busy(0.3)
child = os.fork()
if child == 0:
    thread = threading.Thread(target=busy, args=(1.5,))
    thread.start()
    thread.join()
    os._exit(0)
os.waitpid(child, 0)
"""


def check(checks, version):
    python = e2e.real_python("python" + version)
    if python is None:
        return checks.skip("no Python %s here" % version)
    with e2e.Folder("forked-threads") as folder:
        done = e2e.gpuprof(["--all-processes", "-r", "200", "-o", os.path.join(folder, "out")],
                           [python, "-W", "ignore", "-c", CHILD_WORKS_IN_THREADS])
        stderr = done.stderr.decode()
        checks.equal(done.returncode, 0, "Python %s: %s" % (version, stderr[-600:]))
        checks.equal(len(e2e.traces(os.path.join(folder, "out"))), 2, "Python %s: files: %s" % (version, stderr[-900:]))
        checks.expect(not re.search(r"process \d+ .* was not recorded", stderr), "Python %s: %s" % (version, stderr[-900:]))


def main():
    checks = e2e.Checks()
    for version in ("3.9", "3.11", "3.12", "3.13", "3.14"):
        check(checks, version)
    checks.done()


if __name__ == "__main__":
    main()
