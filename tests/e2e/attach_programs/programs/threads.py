# SPDX-License-Identifier: Apache-2.0
"""Python with threads that compute and sleep, without anything else, until SIGTERM.

usage: threads.py [THREADS]
"""

import os
import signal
import sys
import threading
import time


def main():
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    done = [0] * (int(sys.argv[1]) if len(sys.argv) > 1 else 4)

    def compute(number):
        while not over.is_set():
            sum(i * i for i in range(2000))
            done[number] += 1
            time.sleep(0.01)

    threads = [threading.Thread(target=compute, args=(n,)) for n in range(len(done))]
    for thread in threads:
        thread.start()
    os.write(1, b"ready\n")
    for thread in threads:
        thread.join()
    print("computed" if min(done) > 0 else "a thread did nothing")


if __name__ == "__main__":
    main()
