# SPDX-License-Identifier: Apache-2.0
"""A program that takes namespaces of its own in the middle is recorded to its end, whatever the kernel then refuses to a
new thread; and what is reported about one whose /proc does not name its threads. Needs the right to make them (root)."""

import ctypes
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402

KINDS = {"network": 0x40000000, "process ids": 0x20000000, "host name": 0x04000000, "message queues": 0x08000000,
         "control groups": 0x02000000, "process ids and network": 0x60000000}
PROGRAM = """
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: sum(range(1000))
def before(): work(0.3)
def after(): work(0.6)
before()
if libc.unshare(int(sys.argv[1])) != 0: sys.exit(ctypes.get_errno())
after()
sys.exit(7)
"""


def share_of(folder, name):
    """Of all CPU time in the file, what has this function in its stack."""
    lines = [line.rsplit(" ", 1) for path in glob.glob(os.path.join(folder, "*.folded")) for line in open(path, encoding="utf-8")
             if line.startswith("CPU;")]
    return sum(int(weight) for stack, weight in lines if name in stack) / max(1, sum(int(weight) for _, weight in lines))


def may(kind):
    child = os.fork()
    if child == 0:
        os._exit(ctypes.CDLL(None).unshare(kind) != 0)
    return os.waitpid(child, 0)[1] == 0


def without_its_proc(checks):
    """Started as the first process of a namespace of process ids, with the /proc of another one, and with its own."""
    work = [e2e.real_python(), "-c", "import time\nwhile time.process_time() < 0.4: sum(range(1000))"]
    for name, options in (("another's /proc", []), ("its own /proc", ["--mount-proc"])):
        with e2e.Folder("namespaces") as folder:
            done = e2e.gpuprof(["--all-processes", "--format", "folded", "-o", folder], ["unshare", "-p", "-f", *options, *work])
            reported = "no /proc of its own process id namespace" in done.stderr.decode()
            sampled = any("<module>" in line for path in glob.glob(os.path.join(folder, "*.folded"))
                          for line in open(path, encoding="utf-8"))
            checks.equal((done.returncode, reported, sampled), (0, not options, bool(options)), name)


def main():
    checks = e2e.Checks()
    if shutil.which("unshare") and may(KINDS["process ids"]):
        without_its_proc(checks)
    else:
        checks.skip("no right to make a namespace of process ids, or no unshare(1)")
    for name, kind in KINDS.items():
        if not may(kind):
            checks.skip("no right to make a namespace of: " + name)
            continue
        with e2e.Folder("namespaces") as folder:
            done = e2e.gpuprof(["-q", "-f", "--format", "folded", "-o", folder], [e2e.real_python(), "-c", PROGRAM, str(kind)])
            checks.equal((done.returncode, done.stderr), (7, b""), name)
            shares = {function: share_of(folder, function) for function in ("before", "after")}
            checks.expect(shares["before"] >= 0.1 and shares["after"] >= 0.4, "%s: %r" % (name, shares))
    checks.done()


if __name__ == "__main__":
    main()
