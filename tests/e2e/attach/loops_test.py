# SPDX-License-Identifier: Apache-2.0
"""Programs that are nearly always at a bad place: loaded or cleanly refused, none dies or hangs.

usage: loops_test.py [--times N] [--seconds S] [--only MODE]"""

import argparse
import errno
import glob
import os

import attach_lib as lib
import e2e
import seccomp


TRIES = 20


def allocator(name):
    found = [p for f in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib")
             for p in glob.glob("%s/lib%s*.so*" % (f, name))]
    return sorted(found)[0] if found else None


def modes(checks):
    """Name, mode of the target, its environment, what is done to the attacher before its exec."""
    for mode in ("malloc", "dlopen", "fork", "throw", "setuid"):
        yield mode, mode, {}, None
    if seccomp.supported():
        # Breakpoints are debug registers then.
        yield "no-perf", "malloc", {}, seccomp.deny(seccomp.PERF_EVENT_OPEN, errno.EPERM)
    for name in ("jemalloc", "tcmalloc"):
        path = allocator(name)
        if path:
            yield name, "malloc", dict(os.environ, LD_PRELOAD=path), None
        else:
            checks.skip("%s: it is not installed" % name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="how long each lives on afterwards")
    parser.add_argument("--only")
    args = parser.parse_args()
    lib.require_attach()
    checks = e2e.Checks()
    for name, mode, environment, before in modes(checks):
        if args.only not in (None, name):
            continue
        loaded, refused, stepped, dead, pauses, reasons = 0, 0, 0, 0, [], set()
        for number in range(max(args.times, TRIES)):
            if number >= args.times and loaded:
                break  # one that was refused so far is tried on
            what = "%s %d" % (name, number)
            with lib.Target([lib.TARGET, mode, lib.LONG], env=environment or None) as target:
                checks.equal(target.first, "ready", what)
                # The overwriting library: a register that is not restored ends the program.
                done = lib.inject(target.pid, lib.VECTORS, preexec_fn=before)
                loaded += done.get("answer") == 42
                stepped += bool(done.get("stepped_out"))
                refused += "try again later" in done.get("error", "")
                reasons.add(done.get("error", ""))
                checks.expect(done.get("answer") == 42 or "try again" in done.get("error", ""),
                              "%s: %s" % (what, done))
                pauses += [done["pause_ns"]] if "pause_ns" in done else []
                status, last = target.finish(args.seconds)
                dead += not checks.expect(status == 0 and last.startswith("ok"),
                                          "%s: its end: %s %s" % (what, status, last))
        for reason in sorted(reasons - {""}):
            print("%s: refused: %s" % (name, reason))
        checks.expect(loaded > 0, "%s: into one at least" % name)
        print("%s: %d loaded (%d stepped out), %d refused, %d died; pause %s"
              % (name, loaded, stepped, refused, dead, lib.spread_ms(pauses or [0])))
    checks.done()


main()
