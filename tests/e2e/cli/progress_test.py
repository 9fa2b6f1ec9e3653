# SPDX-License-Identifier: Apache-2.0
"""The progress line: on a terminal, not in a pipe, not with -q, and gone before the summary."""

import os
import pty
import select
import subprocess
import time

import e2e

FAKE = os.path.join(e2e.SOURCE, "tests", "fakes", "fake_daemon.py")
LINE = b"\r\x1b[Kwriting  50 % [##########..........]"
CLEARED = b"\r\x1b[K"


def on_terminal(folder, *arguments):
    """Status of gpuprof and what it wrote to a terminal as stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [e2e.GPUPROF, "run", "--daemon", FAKE, "-o", os.path.join(folder, "out"), *arguments, "true"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, env=environment())
    os.close(theirs)
    seen, end = b"", time.time() + 60
    while time.time() < end:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return process.wait(timeout=30), seen


def environment():
    return dict(os.environ, FAKE_DAEMON="slow", FAKE_SECONDS="2.5")


def main():
    checks = e2e.Checks()
    with e2e.Folder("progress") as folder:
        status, seen = on_terminal(folder)
        checks.equal(status, 0, "status")
        checks.expect(LINE in seen, "a line on the terminal: %r" % seen)
        last = seen.rfind(LINE)
        after = seen[last + len(LINE):]
        checks.expect(after.startswith(CLEARED), "the line is gone before the summary: %r" % after)
        checks.expect(b"gpuprof: " in after, "then the summary: %r" % after)
        checks.equal(on_terminal(folder, "-q"), (0, b""), "-q: nothing at all")
        piped = e2e.gpuprof(["--daemon", FAKE, "-o", os.path.join(folder, "out")], ["true"],
                            env=environment())
        checks.expect(b" %" not in piped.stderr and b"\x1b" not in piped.stderr,
                      "no line in a pipe: %r" % piped.stderr)
    checks.done()


if __name__ == "__main__":
    main()
