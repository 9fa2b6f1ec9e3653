# SPDX-License-Identifier: Apache-2.0
"""The progress line: on a terminal, not in a pipe, not with -q, and gone before the summary."""

import json
import os
import pty
import re
import select
import subprocess
import time

import e2e

FAKE = os.path.join(e2e.SOURCE, "tests", "fakes", "fake_daemon.py")
LINE = b"\r\x1b[Kwriting  50 % [##########..........]"
CLEARED = b"\r\x1b[K"
FORMATS = "tensorboard,xplane,perfetto,pprof,speedscope,folded,sqlite,csv"
EVENTS = (200_000, 800_000, 3_200_000)  # until they are some seconds of work: the line comes after the first


def on_terminal(*arguments, seconds=2.5):
    """Status of gpuprof and what it wrote to a terminal as stderr."""
    controller, tty = pty.openpty()
    process = subprocess.Popen([e2e.GPUPROF, *arguments], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=tty, env=environment(seconds))
    os.close(tty)
    seen, end = b"", time.time() + e2e.PATIENCE_S
    while time.time() < end:
        if not select.select([controller], [], [], 0.2)[0]:
            continue
        try:
            part = os.read(controller, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(controller)
    return process.wait(timeout=e2e.PATIENCE_S), seen


def environment(seconds=2.5):
    return dict(os.environ, FAKE_DAEMON="slow", FAKE_SECONDS=str(seconds))


def one_bar_for_all_formats(checks, folder):
    """Some formats read the events four times: the bar goes on from one to the next."""
    trace = os.path.join(folder, "big.pt.trace.json")
    for events in EVENTS:
        with open(trace, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [
                {"ph": "X", "cat": "cpu_op", "name": "aten::op%d" % (i % 50), "pid": 7, "tid": 7,
                 "ts": 10 * i, "dur": 5} for i in range(events)]}, file)
        out = os.path.join(folder, "exported-%d" % events)
        status, seen = on_terminal("export", "--format", FORMATS, "-o", out, trace)
        checks.equal(status, 0, "export: %r" % seen)
        shares = [int(share) for share in re.findall(rb"writing +(\d+) %", seen)]
        if len(shares) > 1 and shares[-1] > shares[0]:
            break
    checks.expect(len(shares) > 1 and shares == sorted(shares) and shares[-1] > shares[0],
                  "one bar that never goes back: %s" % shares)
    paths = [line.split(b"open with: ")[1].split()[0].decode() for line in seen.splitlines()
             if b"open with: " in line]
    checks.equal(paths, ["gpuprof", "tensorboard", "the", "go", "speedscope", "flamegraph.pl",
                         "sqlite3", "a"],
                 "a viewer for each format")


def main():
    checks = e2e.Checks()
    with e2e.Folder("progress") as folder:
        one_bar_for_all_formats(checks, folder)
        run = ["run", "--daemon", FAKE, "-o", os.path.join(folder, "out")]
        for seconds in (2.5, 15, 60):  # gpuprof may have no processor for the first of them
            status, seen = on_terminal(*run, "true", seconds=seconds)
            if LINE in seen:
                break
        checks.equal(status, 0, "status")
        checks.expect(LINE in seen, "a line on the terminal: %r" % seen)
        last = seen.rfind(LINE)
        after = seen[last + len(LINE):]
        checks.expect(after.startswith(CLEARED), "the line is gone before the summary: %r" % after)
        checks.expect(b"gpuprof: " in after, "then the summary: %r" % after)
        checks.equal(on_terminal(*run, "-q", "true"), (0, b""), "-q: nothing at all")
        piped = e2e.gpuprof(["--daemon", FAKE, "-o", os.path.join(folder, "out")], ["true"],
                            env=environment())
        checks.expect(b" %" not in piped.stderr and b"\x1b" not in piped.stderr,
                      "no line in a pipe: %r" % piped.stderr)
    checks.done()


if __name__ == "__main__":
    main()
