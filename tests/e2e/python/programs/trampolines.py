# SPDX-License-Identifier: Apache-2.0
"""Python functions below functions of the interpreter: under -X perf each is called through a trampoline.

usage: trampolines.py SECONDS   (of CPU time)"""
import functools
import os
import sys
import time

print(os.getpid())


def leaf(x):
    s = 0
    for i in range(400):
        s += i * x
    return s


def key(x):
    return leaf(x)


def main():
    end = time.thread_time() + float(sys.argv[1])
    while time.thread_time() < end:
        sorted(range(50), key=key)
        functools.reduce(lambda a, b: a + leaf(b), range(50))
        sum(leaf(x) for x in range(50))


main()
