# SPDX-License-Identifier: Apache-2.0
"""A program whose thread has done to itself what no call of gpuprof survives is refused with a message, unharmed.

usage: on_itself_test.py"""

import os
import subprocess

import attach_lib as lib
import e2e

PROGRAM = os.path.join(lib.FOLDER, "attach_target_on_itself")
CASES = [("no time stamp counter", "t", "may not read the time stamp counter"),
         ("no thread-local block", "b", "without the C library's thread-local block"),
         ("its own system calls", "d", "Syscall User Dispatch")]


def main():
    lib.require_attach()
    checks = e2e.Checks()
    with e2e.Folder("attach") as folder:
        for name, how, message in CASES:
            with lib.Target([PROGRAM, how]) as target:
                if target.first != "ready":
                    checks.skip(name + ": this kernel does not know it")
                    continue
                done = subprocess.run([e2e.GPUPROF, "attach", str(target.pid), "-d", "0.2s", "-o", folder],
                                      capture_output=True, text=True)
                if how == "d" and done.returncode == 0:
                    checks.skip(name + ": this kernel does not tell (before 6.4)")
                    continue
                checks.expect(message in done.stderr and done.returncode == 125, "%s: %r wanted: %d %s" % (
                    name, message, done.returncode, done.stderr))
                checks.equal(target.process.poll(), None, name + ": it lives")
                target.process.terminate()
                checks.equal(target.process.wait(), 3, name + ": its end")
    checks.done()


main()
