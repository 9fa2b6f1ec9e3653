# SPDX-License-Identifier: Apache-2.0
"""Nothing a thread has is changed by a library that changes all of it: vector and mask registers,
the red zone, floating-point modes, errno, blocked signals; descriptors and memory are given back.

usage: registers_test.py [--times N]"""

import argparse
import os
import time

import attach_lib as lib
import e2e


def loaded_late(checks, ms):
    """A library that takes longer than we wait: the thread goes on alone and ends what was begun. False: nothing was."""
    with lib.Target([lib.TARGET, "state", lib.LONG]) as target:
        state = lib.ProcessState(target.pid)
        done = lib.inject(target.pid, lib.SLOW, arguments=["--deadline-ms", str(ms)])
        if done.get("answer") == 42:
            return False
        lib.wait_for(lambda: lib.loaded(target.pid), 5)  # clock: in vain where nothing was begun
        if not lib.loaded(target.pid):
            checks.equal(target.finish()[0], 0, "a deadline: its end")
            return False
        checks.expect("did not finish" in done.get("error", ""), "a deadline: %s" % done)
        time.sleep(1.5)  # what was begun is ended
        checks.expect(lib.loaded(target.pid), "a deadline: it is loaded later")
        state.check(checks, "a deadline")
        checks.equal(target.finish()[0], 0, "a deadline: its end")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=2)
    times = parser.parse_args().times
    lib.require_attach()
    checks = e2e.Checks()
    for mode in ("vectors", "red-zone", "state"):
        for number in range(times):
            what = "%s %d" % (mode, number)
            with lib.Target([lib.TARGET, mode, lib.LONG]) as target:
                state = lib.ProcessState(target.pid)
                for again in range(3):
                    done = lib.inject(target.pid, lib.VECTORS)
                    checks.equal((done.get("answer"), done.get("was_loaded")), (42, again > 0),
                                 "%s, injection %d: %s" % (what, again, done))
                state.check(checks, what)
                status, last = target.finish()
                checks.expect(status == 0 and last.startswith("ok"), "%s: %s %s" % (what, status, last))
    # A library that cannot be loaded: the loader's words, and nothing left behind.
    with lib.Target([lib.TARGET, "state", lib.LONG]) as target:
        state = lib.ProcessState(target.pid)
        done = lib.inject(target.pid, lib.BROKEN)
        checks.expect("undefined symbol: gpuprof_test_function_that_nobody_has" in done.get("error", ""),
                      "the loader's words: %s" % done)
        state.check(checks, "refused by the loader")
        checks.expect(not lib.loaded(target.pid), "refused by the loader: nothing is mapped")
        checks.equal(target.finish()[0], 0, "refused by the loader: its end")
    # On a busy machine the first deadlines are over before anything has begun.
    if not any(loaded_late(checks, ms) for ms in (300, 500, 700, 900)):
        checks.skip("a deadline: no time was long enough to begin and too short to end")
    # Preloaded: nothing is loaded again.
    with lib.Target([lib.TARGET, "state", lib.LONG], env=dict(os.environ, LD_PRELOAD=e2e.LIBRARY)) as target:
        done = lib.inject(target.pid)
        checks.equal((done.get("answer"), done.get("was_loaded")), (0, True), "preloaded: %s" % done)
        checks.equal(target.finish()[0], 0, "preloaded: its end")
    checks.done()


main()
