# SPDX-License-Identifier: Apache-2.0
"""Threads that fork at the same time: no fork waits in vain for the worker thread to stand still, which it would for 200 ms
each, and the program is what it is without gpuprof. With a Python that counts threads after a fork, too.

usage: fork_threads_test.py"""

import os

import e2e

PROGRAM = os.path.join(e2e.BUILD, "unchanged", "fork_threads")
THREADS, FORKS = 4, 200
IN_PYTHON = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).fork_in_threads(%d, %d))" % (THREADS, FORKS)


def unprepared(folder):
    """Forks that went on beside the worker thread, and whether there is a trace."""
    heads = [e2e.load(path)["gpuprof"] for path in e2e.traces(folder)]
    return max((int(head["facts"].get("stats.forks_unprepared", 0)) for head in heads), default=None)


def check(checks, what, command):
    with e2e.Folder("fork-threads") as folder:
        done = e2e.gpuprof(["-o", folder, "-r", "1000"], command)
        checks.equal((done.returncode, done.stdout.decode().strip()),
                     (0, "%d children of %d" % (THREADS * FORKS, THREADS * FORKS)), what + ": " + done.stderr.decode()[-600:])
        late = unprepared(folder)
        if not checks.expect(late is not None, what + ": a trace: " + done.stderr.decode()[-600:]):
            return
        print("%s: %d of %d forks did not find the worker thread paused" % (what, late, THREADS * FORKS))
        # A busy machine may keep the worker thread from a processor for so long now and then.
        checks.expect(late * 100 < THREADS * FORKS, "%s: %d of %d forks waited in vain" % (what, late, THREADS * FORKS))


def main():
    checks = e2e.Checks()
    check(checks, "C", [PROGRAM, str(THREADS), str(FORKS)])
    for version in ("3.12", "3.11"):  # the former counts threads after a fork
        python = e2e.real_python("python" + version)
        if python is None:
            checks.skip("no Python %s here" % version)
        else:
            check(checks, "Python " + version, [python, "-c", IN_PYTHON, PROGRAM + ".so"])
    checks.done()


if __name__ == "__main__":
    main()
