# SPDX-License-Identifier: Apache-2.0
"""What the tests of attach share: targets, injections, what an injection may leave behind."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402

FOLDER = os.path.join(e2e.BUILD, "attach")
TOOL = os.path.join(FOLDER, "attach_tool")
TARGET = os.path.join(FOLDER, "attach_target")
VECTORS = os.path.join(FOLDER, "libattach_vectors.so")
BROKEN = os.path.join(FOLDER, "libattach_broken.so")
SLOW = os.path.join(FOLDER, "libattach_slow.so")
HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = "hello"
# Where time is not the subject: the three seconds of a user are few for three processes on a busy machine.
PATIENT = ("--deadline-ms", "60000")
# What the library itself understands; it detaches by itself after 5 s.
ARMED = "armed;patience=5000"


def require_attach():
    """Skips the test where nothing can be attached to."""
    if platform.machine() != "x86_64":
        e2e.skip("attach is tested on x86-64 only")
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        time.sleep(0.1)
        done = inject(sleeper.pid, VECTORS)
        sleeper.kill()
    if "error" in done and re.search("ptrace_scope|SYS_PTRACE", done["error"]):
        e2e.skip(done["error"])


def inject(pid, library=e2e.LIBRARY, arguments=(), **keywords):
    """One injection; the tool's answer, with `status`."""
    keywords.setdefault("timeout", e2e.PATIENCE_S)
    done = subprocess.run([TOOL, str(pid), library, ARMED if library == e2e.LIBRARY else WORDS, *PATIENT, *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, **keywords)
    try:
        reply = json.loads(done.stdout)
    except ValueError:
        reply = {"error": "no answer: status %d %s" % (done.returncode, done.stderr)}
    reply["status"] = done.returncode
    return reply


class Target:
    """A program that says `ready`; killed with the block if it still runs."""

    def __init__(self, command, **keywords):
        keywords.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **keywords)
        self.pid = self.process.pid
        self.first = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.communicate()

    def finish(self, after_s=0.0):
        """Tells it to end after a while; what end() says."""
        time.sleep(after_s)
        if self.process.poll() is None:
            self.process.terminate()
        return self.end()

    def end(self, seconds=e2e.PATIENCE_S):
        """Exit status and last line; -99: it hangs."""
        try:
            out, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return -99, "it hangs"
        return self.process.returncode, (out.strip().splitlines() or [""])[-1]


# Longer than any test on any machine; they tell it to end.
LONG = "600"


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def loaded(pid):
    return "libgpuprof_inject.so" in read("/proc/%d/maps" % pid)


def wait_for(condition, seconds=e2e.PATIENCE_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.02)


def state(pid):
    """The letter of its main thread, as in ps; "" if it is gone."""
    found = re.search(r"State:\t(\w)", read("/proc/%d/status" % pid))
    return found[1] if found else ""


def is_sleeping_as(pid, name):
    """Whether the process runs that program, and has come past its start."""
    return read("/proc/%d/cmdline" % pid).startswith(name) and state(pid) == "S"


class ProcessState:
    """What an injection must leave as it was."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.snapshot()

    def snapshot(self):
        descriptors = []
        for name in os.listdir("/proc/%d/fd" % self.pid):
            try:
                descriptors.append(os.readlink("/proc/%d/fd/%s" % (self.pid, name)))
            except OSError:
                pass
        masks = [re.search(r"SigBlk:\s*(\w+)", read("/proc/%d/task/%s/status" % (self.pid, tid)))[1]
                 for tid in sorted(os.listdir("/proc/%d/task" % self.pid))]
        scratch = [line for line in read("/proc/%d/maps" % self.pid).splitlines()
                   if re.search(r" r-xp 0+ 00:00 0\s*$", line)]
        return {"descriptors": sorted(descriptors), "masks": masks, "scratch": scratch}

    def check(self, checks, what):
        wait_for(lambda: self.snapshot() == self.before, 60)
        now = self.snapshot()
        for key, value in self.before.items():
            checks.equal(now[key], value, "%s: %s" % (what, key))
        checks.expect("TracerPid:\t0\n" in read("/proc/%d/status" % self.pid), what + ": untraced")


def percentile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


def spread_ms(values_ns):
    """`p50 0.8, p95 1.2, max 3.0 ms`."""
    return "p50 %.2f, p95 %.2f, max %.2f ms" % tuple(
        v / 1e6 for v in (percentile(values_ns, 0.5), percentile(values_ns, 0.95), max(values_ns)))
