#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code that keeps its data where the kernel would write a signal's frame (matrix kernels of oneDNN do) is
sampled on alternate stacks, or not at all: its data stays whole. Under a name that gpuprof does not know for
it the same code shows what signals do to it."""

import os
import re
import subprocess
import time

import e2e

PROGRAM = os.path.join(e2e.BUILD, "signal_stacks", "fragile")
LINKED = PROGRAM + "_linked"
KNOWN = os.path.join(e2e.BUILD, "signal_stacks", "libdnnl_stand_in.so")
UNKNOWN = os.path.join(e2e.BUILD, "signal_stacks", "libunknown_stand_in.so")
RATE = ["-r", "500"]
# A busy machine needs the longer ones until each thread was sampled.
SECONDS = ("1.2", "8", "50")
REASON = "its code must not be interrupted on a thread's own stack"


def numbers(text):
    """(damaged, rounds) of every line that says so."""
    return [tuple(map(int, found)) for found in re.findall(rb"damaged (\d+) of (\d+)", text)]


def sampled_threads(folder):
    """Threads with samples in that code."""
    found = set()
    for path in e2e.written(folder):
        if path.endswith(".folded"):
            with open(path, encoding="utf-8") as file:
                found |= {line.split(";")[1] for line in file if line.startswith("CPU;") and "fragile_spin" in line}
    return found


def run(folder, library, mode, *, options=(), seconds=SECONDS[0]):
    output = os.path.join(folder, "-".join((mode, os.path.basename(library), seconds, *options)))
    return output, e2e.gpuprof([*RATE, *options, "--format", "tensorboard,folded", "-o", output],
                               [PROGRAM, library, mode, seconds])


def run_until(enough, *arguments, **keywords):
    """run(), again and longer while not enough(output, what it did)."""
    for seconds in SECONDS:
        output, done = run(*arguments, seconds=seconds, **keywords)
        if enough(output, done):
            break
    return output, done


def check_whole(checks, done, what):
    found = numbers(done.stdout)
    checks.expect(done.returncode == 0 and found, "%s: status %s, %r, %r" % (what, done.returncode, done.stdout, done.stderr[-500:]))
    for damaged, rounds in found:
        checks.expect(damaged == 0 and rounds > 0, "%s: damaged %d of %d" % (what, damaged, rounds))
    checks.expect(b"the own stack is gone" not in done.stdout, what + ": its own stack is gone")


def under_run(checks, folder):
    for mode, threads in (("spin", 4), ("own", 4), ("churn", 0), ("fork", 0)):
        output, done = run_until(lambda out, _: len(sampled_threads(out)) >= threads, folder, KNOWN, mode)
        check_whole(checks, done, mode)
        checks.expect(len(sampled_threads(output)) >= threads, "%s: sampled %r" % (mode, sampled_threads(output)))
    for trigger in ("cpu-timer", "tgkill"):
        output, done = run_until(lambda out, _: len(sampled_threads(out)) >= 4, folder, KNOWN, "spin",
                                 options=["--sampler", trigger])
        check_whole(checks, done, trigger)
        checks.expect(len(sampled_threads(output)) == 4, "%s: sampled %r" % (trigger, sampled_threads(output)))


def waking(checks, folder):
    """The signal by which a process that nobody knows yet wakes, once each: on one thread of it."""
    sampled = set()
    for number in range(4):
        output = os.path.join(folder, "forked-%d" % number)
        done = e2e.gpuprof([*RATE, "--format", "folded", "-o", output], [PROGRAM, KNOWN, "fork", "0.3"])
        check_whole(checks, done, "fork")
        output = os.path.join(folder, "below-%d" % number)
        done = e2e.gpuprof([*RATE, "--format", "folded", "-o", output], ["sh", "-c", '"$@"; true', "sh", LINKED, KNOWN, "spin", "0.3"])
        check_whole(checks, done, "below")
        sampled = sampled or sampled_threads(output)
    if not sampled:  # by a busy machine
        output = os.path.join(folder, "below-longer")
        e2e.gpuprof([*RATE, "--format", "folded", "-o", output], ["sh", "-c", '"$@"; true', "sh", LINKED, KNOWN, "spin", "8"])
        sampled = sampled_threads(output)
    checks.expect(sampled, "below: sampled no thread")


def too_late(checks, folder):
    """Threads that are there before the library cannot be given a stack: they are not sampled, and that is reported."""
    for seconds in ("2.5", *SECONDS[1:]):
        output, done = run(folder, KNOWN, "wait", seconds=seconds)
        check_whole(checks, done, "wait")
        if REASON in done.stderr.decode():
            break
    checks.equal(sampled_threads(output), set(), "wait: sampled")
    checks.expect(REASON in done.stderr.decode(), "wait: the reason: " + done.stderr.decode())


def attached(checks, folder):
    """Through the thread that waits for the others: on the stacks of those nothing may be written."""
    for seconds in ("4", "30", "200"):
        output = os.path.join(folder, "attached-" + seconds)
        with subprocess.Popen([PROGRAM, KNOWN, "wait", seconds], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as program:
            time.sleep(0.8)
            done = subprocess.run([e2e.GPUPROF, "attach", str(program.pid), *RATE, "--duration", "2s", "--format",
                                   "tensorboard,folded", "-o", output], capture_output=True, timeout=600, check=False)
            over = program.poll() is not None
            printed, _ = program.communicate(timeout=600)
        if done.returncode == 0 or not over:
            break  # else it was over before anybody came
    checks.equal(done.returncode, 0, "attach: %r" % done.stderr)
    checks.expect(program.returncode == 0 and numbers(printed)[0][0] == 0, "attach: %r" % printed)
    checks.equal(sampled_threads(output), set(), "attach: sampled")
    checks.expect(REASON in done.stderr.decode(), "attach: the reason: " + done.stderr.decode())


def what_signals_do(checks, folder):
    output, done = run_until(lambda out, did: numbers(did.stdout)[0][0] > 0 and len(sampled_threads(out)) >= 4,
                             folder, UNKNOWN, "spin")
    damaged, rounds = numbers(done.stdout)[0]
    checks.expect(damaged > 0, "under another name: damaged %d of %d: this test shows nothing" % (damaged, rounds))
    checks.expect(len(sampled_threads(output)) == 4, "under another name: %r" % sampled_threads(output))


def main():
    checks = e2e.Checks()
    with e2e.Folder("signal-stacks") as folder:
        plain = subprocess.run([PROGRAM, UNKNOWN, "spin", "0.5"], capture_output=True, timeout=600, check=True)
        checks.equal(numbers(plain.stdout)[0][0], 0, "alone: damaged")
        what_signals_do(checks, folder)
        under_run(checks, folder)
        waking(checks, folder)
        too_late(checks, folder)
        attached(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
