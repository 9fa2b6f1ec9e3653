# SPDX-License-Identifier: Apache-2.0
"""A Python program with seven busy threads: busy.py SECONDS, or until SIGTERM. Ends with `ok` if all of them worked."""

import ctypes
import hashlib
import select
import signal
import sys
import threading
import time

STOP = threading.Event()
COUNTS = {}


def worker(function):
    def run():
        while not STOP.is_set():
            function()
            COUNTS[function.__name__] = COUNTS.get(function.__name__, 0) + 1
    return threading.Thread(target=run)


def compute():
    sum(i * i for i in range(2000))


def allocate():
    [bytearray(n) for n in range(1, 4000, 40)]


def digest():
    hashlib.sha256(b"x" * 100000).digest()


def doze():
    time.sleep(0.002)


EPOLL = select.epoll()


def poll_epoll():
    EPOLL.poll(0.002)


def load():
    handle = ctypes.CDLL("libutil.so.1")._handle
    dlclose = ctypes.CDLL(None).dlclose
    dlclose.argtypes = [ctypes.c_void_p]
    dlclose(handle)


CONDITION = threading.Condition()


def wait_for_it():
    with CONDITION:
        CONDITION.wait(0.002)  # clock: a pause


def main():
    threads = [worker(f) for f in (compute, allocate, digest, doze, poll_epoll, load, wait_for_it)]
    for thread in threads:
        thread.start()
    signal.signal(signal.SIGTERM, lambda *_: STOP.set())
    print("ready", flush=True)
    STOP.wait(float(sys.argv[1]))
    STOP.set()
    for thread in threads:
        thread.join()
    print("ok" if len(COUNTS) == 7 else "only %s worked" % COUNTS)


main()
