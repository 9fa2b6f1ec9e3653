# SPDX-License-Identifier: Apache-2.0
"""A program that is being started by its loader is waited for, not taken for one that has no libraries; time
that is over is no fault of its threads."""

import os
import re
import subprocess
import time

import attach_lib as lib
import e2e

OPENAT = 257
ROWS = [("before its C library", [], "is still being started by its loader; try again"),
        ("after its C library", ["libc.so.6"], "is still loading libraries; try again")]


def in_its_loader(pipe, before):
    """A program whose loader opens a pipe, after these libraries, and waits until somebody writes to it."""
    target = subprocess.Popen(["sleep", lib.LONG], stderr=subprocess.DEVNULL,
                              env=dict(os.environ, LD_PRELOAD=":".join([*before, pipe])))
    lib.wait_for(lambda: lib.state(target.pid) == "S" and
                 lib.read("/proc/%d/syscall" % target.pid).startswith("%d " % OPENAT))
    return target


def check_waited_for(checks, name, target, pipe):
    with subprocess.Popen([lib.TOOL, str(target.pid), lib.VECTORS, lib.WORDS, *lib.PATIENT], text=True,
                          stdout=subprocess.PIPE) as tool:
        time.sleep(1)
        checks.equal(tool.poll(), None, name + ": it is waited for")
        os.close(os.open(pipe, os.O_WRONLY))  # what is no library is left out
        output = tool.communicate()[0]
        checks.expect('"answer": 42' in output, "%s: once it is over: %s" % (name, output))


def check_program(checks, name, before, message):
    with e2e.Folder("attach") as folder:
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        target = in_its_loader(pipe, before)
        try:
            has_libc = bool(re.search(r"/libc\.so\.6$", lib.read("/proc/%d/maps" % target.pid), re.MULTILINE))
            checks.equal(has_libc, bool(before), name + ": where it waits")
            done = lib.inject(target.pid, lib.VECTORS, arguments=["--deadline-ms", "1000"])
            checks.expect(message in done.get("error", ""), "%s: %r wanted: %s" % (name, message, done))
            check_waited_for(checks, name, target, pipe)
            checks.equal(target.poll(), None, name + ": it lives")
        finally:
            target.kill()
            target.wait()


def without_time(checks):
    with subprocess.Popen(["sleep", lib.LONG]) as target:
        lib.wait_for(lambda: lib.is_sleeping_as(target.pid, "sleep"))
        done = lib.inject(target.pid, lib.VECTORS, arguments=["--deadline-ms", "0"])
        checks.expect("could be examined within 0 ms" in done.get("error", ""), "without time: %s" % done)
        target.kill()


def main():
    lib.require_attach()
    checks = e2e.Checks()
    for row in ROWS:
        check_program(checks, *row)
    without_time(checks)
    checks.done()


main()
