# SPDX-License-Identifier: Apache-2.0
"""Forks a few times, each time while the threads that somebody brought in get hardly any processor: one for all of
them, six loops on it, and the idle class. forks_starved.py FORKS. Says what it saw of threads and warnings, and how long the
longest fork took."""
import os
import signal
import sys
import time
import warnings


def threads():
    return [int(name) for name in os.listdir("/proc/self/task") if int(name) != os.getpid()]


def loop_on(processor):
    os.sched_setaffinity(0, {processor})
    parent = os.getppid()
    while os.getppid() == parent:
        sum(range(1000))
    os._exit(0)


def starve(processor):
    """How many there were."""
    seen = 0
    for thread in threads():
        try:
            os.sched_setaffinity(thread, {processor})
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
            seen += 1
        except ProcessLookupError:
            pass
    return seen


def wait_for_threads():
    """They come by the attach, and are back after a few ms of work."""
    until = time.process_time() + 20
    while not threads() and time.process_time() < until:
        sum(range(1000))


warned = []
warnings.simplefilter("always", DeprecationWarning)
warnings.showwarning = lambda *_args, **_keywords: warned.append(1)
last = max(os.sched_getaffinity(0))
loops = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        loop_on(last)
    loops.append(child)

print("ready", flush=True)
wait_for_threads()
most = longest = 0
for _ in range(int(sys.argv[1])):
    time.sleep(0.3)
    wait_for_threads()
    most = max(most, starve(last))
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(0)
    longest = max(longest, time.monotonic() - begun)
    os.waitpid(child, 0)
for child in loops:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print("starved %d warned %d longest %.1f s" % (most, len(warned), longest), flush=True)
signal.sigwait({signal.SIGTERM})
