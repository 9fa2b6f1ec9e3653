# SPDX-License-Identifier: Apache-2.0
"""A little work in two threads; nothing in it knows of profilers."""

import threading
import time


def crunch(seconds):
    until = time.thread_time() + seconds
    total = 0
    while time.thread_time() < until:
        total += sum(range(1000))
    return total


def wait(seconds):
    time.sleep(seconds)


def main():
    other = threading.Thread(target=wait, args=(0.8,), name="waiter")
    other.start()
    crunch(0.8)
    other.join()


if __name__ == "__main__":
    main()
