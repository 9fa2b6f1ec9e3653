# SPDX-License-Identifier: Apache-2.0
"""`gpuprof attach` to processes that are named, end or change as few do: what it says, and what it records."""

import os

import e2e
import live

NAMED = """
import os, time
with open("/proc/self/comm", "w") as file:
    file.write("gpuprof")
print(os.getpid(), flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    sum(range(300)); time.sleep(0.002)
"""


def paths_of(done):
    return done.stdout.split()


def called_as_our_thread(checks, folder):
    with live.Program([live.PYTHON, "-c", NAMED]) as program:
        for number in ("1", "2"):
            done = live.cli("attach", program.pid, "-d", "250ms", "-o", os.path.join(folder, number))
            checks.equal((done.returncode, len(paths_of(done))), (0, 1), "a program called gpuprof: " + done.stderr)


CASES = (called_as_our_thread,)


def main():
    checks = e2e.Checks()
    for case in CASES:
        with e2e.Folder("unusual") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
