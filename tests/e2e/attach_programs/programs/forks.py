# SPDX-License-Identifier: Apache-2.0
"""Forks again and again, with so many seconds of work in between: forks.py WORK. Until SIGTERM. Of each
warning of the interpreter it says when, in ns of CLOCK_MONOTONIC, on stderr."""
import os
import signal
import sys
import time
import warnings


def show(*_args, **_keywords):
    print("warned %d" % time.monotonic_ns(), file=sys.stderr, flush=True)


warnings.simplefilter("always", DeprecationWarning)
warnings.showwarning = show
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
work_s = float(sys.argv[1])


def work(until):
    while time.monotonic() < until:
        sum(range(300))


print("ready", flush=True)
count = 0
while not told:
    child = os.fork()
    if child == 0:
        os._exit(7)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != 7:
        sys.exit("a child's status is wrong: %d" % status)
    count += 1
    if work_s:
        work(time.monotonic() + work_s)
print("ok", count, flush=True)
