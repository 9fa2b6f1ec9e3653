# SPDX-License-Identifier: Apache-2.0
"""Where the kernel gives the worker thread no table of descriptors of its own (before Linux 5.9, an old container's profile),
a program that closes all it does not know closes ours: it can be recorded afterwards, again and again.

usage: closed_descriptors_test.py"""

import errno
import os
import sys

import e2e
import live
import seccomp
import windows

CLOSE_RANGE = 436
# Again and again, and each time other files in the places of what it closed.
CLOSES_ALL = """
import os, sys, time
print(os.getpid(), flush=True)
kept = []
while True:
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        sum(range(300))
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
        os.closerange(3, 1 << 16)
        kept = [os.open("/dev/zero", os.O_RDONLY) for _ in range(8)]
        for number in range(4070, 4096):
            os.dup2(kept[0], number)
        print("closed", flush=True)
"""


def check(checks, folder):
    request_path = os.path.join(folder, "close")
    command = live.prefix("--armed") + [sys.executable, "-c", CLOSES_ALL, request_path]
    with live.Program(command, cwd=folder, preexec_fn=seccomp.deny(CLOSE_RANGE, errno.ENOSYS)) as program:
        live.wait_until_armed(program.pid)
        for number in range(3):
            with open(request_path, "w", encoding="utf-8"):
                pass
            live.wait_for(lambda: not os.path.exists(request_path))
            before = live.status().get(program.pid, {}).get("worker_cpu_ns")
            out = os.path.join(folder, "out%d" % number)
            done = windows.cli("capture", program.pid, "-d", "500ms", "-o", out)
            checks.equal((done.returncode, len(done.stdout.split())), (0, 1),
                         "capture %d: %s" % (number, done.stderr[-600:]))
            checks.expect(before is not None, "capture %d: status finds it before" % number)


def main():
    checks = e2e.Checks()
    if not seccomp.supported():
        checks.skip("no seccomp here")
    else:
        with e2e.Folder("closed-descriptors") as folder:
            check(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
