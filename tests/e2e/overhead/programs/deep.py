# SPDX-License-Identifier: Apache-2.0
"""Computes for some seconds below many frames of Python and of C."""

import os
import sys
import time


def down(depth, until):
    if depth:
        return max([depth], key=lambda _: down(depth - 1, until))
    while time.monotonic() < until:
        sum(range(200))
    return 0


print(os.getpid(), flush=True)
down(60, time.monotonic() + float(sys.argv[1]))
