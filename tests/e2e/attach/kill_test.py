# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of the attacher at each of its steps, and at random moments: the program goes on.

usage: kill_test.py [--random N] [--only STEP]"""

import argparse
import os
import random
import re
import signal
import subprocess
import time

import attach_lib as lib
import e2e

STEPS = os.path.join(e2e.SOURCE, "daemon/attach/ptrace/phases.cpp")
# Only a thread that is always at a bad place is stepped out.
STEP_OUT = {"breakpoint", "stepped-out"}
# What this may leave: the scratch memory of a call that had just been made for us, untouched.
LEAVES_MEMORY = {"map-call", "masked", "map-entered", "mapped", "code-mapped", "code-written"}
# Until here nothing is loaded; from there on it is.
BEFORE, LOADING = "file-written", "loading"


def steps():
    names = re.search(r"kNames\[\] = \{(.*?)\};", lib.read(STEPS), re.DOTALL)[1]
    return re.findall(r'"([a-z-]+)"', names)


def attacher(target, environment=None):
    return subprocess.Popen([lib.TOOL, str(target.pid), lib.VECTORS, lib.WORDS, *lib.PATIENT],
                            stdout=subprocess.PIPE, env=environment)


def stopped(process, seconds=e2e.PATIENCE_S):
    """True once it has stopped itself; False if it ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(process.pid, os.WNOHANG | os.WUNTRACED)
        if pid:
            return os.WIFSTOPPED(status)
        time.sleep(0.002)
    return False


def at_step(checks, step, index, before):
    # Now and then even such a thread is met at a good place.
    for _ in range(5 if step in STEP_OUT else 1):
        if stopped_and_killed(checks, step, index, before):
            return
    checks.expect(False, "%s: the attacher stops there" % step)


def stopped_and_killed(checks, step, index, before):
    """False: the attacher ended before it came to the step."""
    mode = "dlopen" if step in STEP_OUT else "state"
    with lib.Target([lib.TARGET, mode, lib.LONG]) as target:
        state = lib.ProcessState(target.pid)
        process = attacher(target, dict(os.environ, GPUPROF_ATTACH_STOP_AT=step))
        if not stopped(process):
            process.communicate()
            return False
        process.send_signal(signal.SIGKILL)
        process.communicate()
        lib.wait_for(lambda: lib.loaded(target.pid) == (index >= before))
        time.sleep(0.25)  # what was begun is ended
        checks.equal(lib.loaded(target.pid), index >= before, "%s: whether it is loaded" % step)
        if step not in LEAVES_MEMORY and mode != "dlopen":
            state.check(checks, step)
        checks.expect("TracerPid:\t0\n" in lib.read("/proc/%d/status" % target.pid), step + ": untraced")
        status, last = target.finish()
        checks.expect(status == 0 and last.startswith("ok"), "%s: its end: %s %s" % (step, status, last))
    return True


def at_random(checks, number, rng):
    mode = rng.choice(["state", "malloc", "dlopen", "vectors", "throw"])
    with lib.Target([lib.TARGET, mode, lib.LONG]) as target:
        process = attacher(target)
        time.sleep(rng.uniform(0, 0.06))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        status, last = target.finish(0.2)
        checks.expect(status == 0 and last.startswith("ok"),
                      "random %d, %s: its end: %s %s" % (number, mode, status, last))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--random", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only")
    args = parser.parse_args()
    lib.require_attach()
    checks, names = e2e.Checks(), steps()
    before = names.index(BEFORE)
    for index, step in enumerate(names):
        if args.only in (None, step):
            at_step(checks, step, index, before)
    print("%d steps, random moments with --seed %d" % (len(names), args.seed))
    rng = random.Random(args.seed)
    for number in range(args.random if args.only is None else 0):
        at_random(checks, number, rng)
    checks.done()


main()
