# SPDX-License-Identifier: Apache-2.0
"""Forks again and again, with so many seconds of work in between: forks.py WORK. Until SIGTERM."""
import os
import signal
import sys
import time

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
