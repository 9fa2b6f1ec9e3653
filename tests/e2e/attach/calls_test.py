# SPDX-License-Identifier: Apache-2.0
"""A thread that sleeps in a call sleeps on, as long as it would: no EINTR (but for epoll_wait, which
the kernel never continues after a stop), and no write of a part: its end is waited for."""

import errno
import re
import subprocess
import time

import attach_lib as lib
import e2e

SPAN_MS = 400
# What two injections in a call may add; a busy machine adds more, but not every time.
SLACK_MS = 60
ROUNDS = 4
NEVER_CONTINUED = {"epoll_wait"}
WRITES = {"write", "write_in_pieces"}
ONCE = NEVER_CONTINUED | WRITES
CALLS = 13
# So long the end of a write is waited for.
PATIENCE_MS = 1000


def injections(checks, target, name):
    for _ in range(1 if name in ONCE else 2):
        time.sleep(0.06)
        done = lib.inject(target.pid, lib.VECTORS)
        checks.equal(done.get("answer"), 42, "%s: %s" % (name, done))
    target.process.stdin.write("\n")  # it may go on to the next call
    target.process.stdin.flush()


def one_round(checks):
    """How long each call took, ms; results are checked."""
    took = {}
    with lib.Target([lib.TARGET, "calls", "0"], stdin=subprocess.PIPE) as target:
        for line in target.process.stdout:
            begin = re.match(r"begin (\w+)", line)
            if begin:
                injections(checks, target, begin[1])
                continue
            end = re.match(r"end (\w+) ([\d.]+) (-?\d+) (\d+)", line)
            if not end:
                checks.expect(line.startswith("ok"), "the last line: " + line)
                continue
            name, result = end[1], (int(end[3]), int(end[4]))
            took[name] = float(end[2])
            print("%s: %.1f ms, result %d, errno %d" % (name, took[name], *result))
            if name in NEVER_CONTINUED:
                checks.expect(result in ((0, 0), (-1, errno.EINTR)), "%s: %s" % (name, result))
            elif name in WRITES and took[name] > PATIENCE_MS:
                # Its reader was kept from running: a part may be written.
                checks.in_time(result == (0, 0), "%s: %s" % (name, result))
            else:
                checks.equal(result, (0, 0), name + ": result and errno")
                checks.expect(took[name] >= SPAN_MS - 1, "%s: %.1f ms" % (name, took[name]))
        checks.equal(target.end()[0], 0, "its end")
    checks.equal(len(took), CALLS, "calls")
    return took


def main():
    lib.require_attach()
    checks, best = e2e.Checks(), {}
    for _ in range(ROUNDS):
        for name, ms in one_round(checks).items():
            best[name] = min(ms, best.get(name, ms))
        late = [n for n, ms in best.items() if ms > SPAN_MS + SLACK_MS]
        if not late or not e2e.ENFORCE_TIME:
            break
    checks.in_time(not late, "calls that slept longer each time: %s" % late)
    checks.done()


main()
