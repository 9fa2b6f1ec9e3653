# SPDX-License-Identifier: Apache-2.0
"""Runs a test that enforces Checks.in_time(), again if nothing else failed: what is too slow every time is a failure.

usage: repeat.py TIMES TEST [ARGUMENT...]"""

import os
import subprocess
import sys

import e2e


def main():
    times, command = int(sys.argv[1]), [sys.executable, *sys.argv[2:]]
    for number in range(times):
        status = subprocess.run(command, env=dict(os.environ, GPUPROF_TEST_TIME="1")).returncode
        if status != e2e.TOO_SLOW:
            sys.exit(status)
        print("-- too slow, run %d of %d" % (number + 1, times), flush=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
