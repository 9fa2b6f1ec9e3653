#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts calls that Python had to repeat because of a signal: it retries EINTR silently, so libc's
functions are called directly. usage: eintr.py CALLS MILLISECONDS; exit status 1 if any gave EINTR."""

import ctypes
import errno
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class Timeval(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("microseconds", ctypes.c_long)]


def interrupted(result):
    return result < 0 and ctypes.get_errno() == errno.EINTR


def calls_of(ms):
    span = Timespec(0, ms * 1_000_000)
    epoll = libc.epoll_create1(0)
    event = ctypes.create_string_buffer(16)

    def select():
        wait = Timeval(0, ms * 1000)
        return interrupted(libc.select(0, None, None, None, ctypes.byref(wait)))

    return {
        "nanosleep": lambda: interrupted(libc.nanosleep(ctypes.byref(span), None)),
        "usleep": lambda: interrupted(libc.usleep(ms * 1000)),
        "poll": lambda: interrupted(libc.poll(None, 0, ms)),
        "select": select,
        "epoll_wait": lambda: interrupted(libc.epoll_wait(epoll, event, 1, ms)),
    }


def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(i * i for i in range(500))


def main():
    count, ms = int(sys.argv[1]), int(sys.argv[2])
    stop = threading.Event()
    busy = threading.Thread(target=lambda: [compute(0.01) for _ in iter(stop.is_set, True)])
    busy.start()
    total = 0
    for name, call in calls_of(ms).items():
        bad = 0
        for _ in range(count):
            compute(0.003)
            bad += call()
        print(f"{name} {bad}/{count}", flush=True)
        total += bad
    # time.sleep must take as long as requested and no longer than without gpuprof.
    begin = time.monotonic()
    for _ in range(count):
        time.sleep(ms / 1000)
    print(f"sleep {time.monotonic() - begin:.3f}", flush=True)
    stop.set()
    busy.join()
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
