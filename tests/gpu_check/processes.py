# SPDX-License-Identifier: Apache-2.0
"""Runs commands with a limit, and ends whatever they leave behind."""

import ctypes
import dataclasses
import os
import signal
import subprocess
import time

EVER_THERE = ("gpuprof: open with", "gpuprof: overhead: ", "gpuprof: 1 trace file", "gpuprof:   ", "gpuprof: 1 window")
SUBREAPER = 36  # prctl: orphans below become this process's children


@dataclasses.dataclass
class Completed:
    status: int
    out: str
    err: str
    hung: bool = False

    def last_lines(self):
        """What it printed last, on one line; of a summary's lines none that every summary has."""
        lines = [line for line in self.err.strip().splitlines() if not line.startswith(EVER_THERE)]
        return " / ".join(line[:160] for line in lines[-3:])


def adopt_orphans():
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def below(pid):
    """Process ids of all that descend from it."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry)] = int(fields[1])
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        for child, its in parents.items():
            if its == parent:
                found.append(child)
                todo.append(child)
    return found


def reap():
    """Takes leave of children that have ended; of those that somebody waits for Popen knows its own way."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def clear(patience_s):
    """Waits so long for what is left below this process, kills the rest; their number."""
    end = time.monotonic() + patience_s
    reap()
    left = below(os.getpid())
    while left and time.monotonic() < end:
        time.sleep(0.05)
        reap()
        left = below(os.getpid())
    kill(left)
    time.sleep(0.05 if left else 0)
    reap()
    return len(left)


def run(command, limit_s, **keywords):
    """The command to its end, or to the limit: then it is killed with what it started."""
    keywords.setdefault("stdin", subprocess.DEVNULL)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                               **keywords)
    hung = False
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        hung = True
        kill(below(process.pid) + [process.pid])
        try:
            out, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # somebody else holds its pipes
            out, err = "", ""
        err += "\nkilled after %g s" % limit_s
    return Completed(process.returncode, out, err, hung)


class Program:
    """A program in the background that has printed something, its process id if it is to be ended by a signal; killed at
    the end of the block."""

    def __init__(self, command, **keywords):
        keywords.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **keywords)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("it did not start, status %s: %s" % (self.process.wait(), " ".join(command)))
        self.first = line
        self.pid = int(line) if line.strip().isdigit() else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            kill(below(self.process.pid) + [self.process.pid])
        self.process.wait()
        self.process.stdout.close()

    def alive(self):
        return self.process.poll() is None

    def end(self, limit_s, number=signal.SIGTERM):
        """(status, what else it printed), by a signal."""
        if self.pid and self.alive():
            os.kill(self.pid, number)
        try:
            out, _ = self.process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return None, ""
        return self.process.returncode, out
