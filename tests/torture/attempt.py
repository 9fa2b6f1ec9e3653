# SPDX-License-Identifier: Apache-2.0
"""One attempt at one fault, in a process of its own: what it may use, and how harm is judged.

usage: attempt.py FAMILY/FAULT SEED FOLDER   writes FOLDER/result.json; the harness starts it"""

import dataclasses
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback

import staged

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(os.path.dirname(HERE), "e2e")
for _suite in ("lib", "kill", "hostile", "unchanged", "faults", "cli", "attach_cli"):
    sys.path.append(os.path.join(E2E, _suite))
import e2e  # noqa: E402
from unchanged_test import same  # noqa: E402

PROGRAMS = os.path.join(e2e.BUILD, "torture")
PLANTED = os.path.join(HERE, "planted", "gpuprof")
# Slower than this beside the same program alone is harm. Generous: machines are shared.
SLOW_FACTOR, SLOW_EXTRA_S = 4, 12
RATE = ["--rate", "1000"]


class Skip(Exception):
    """This machine cannot stage the fault; the reason."""


@dataclasses.dataclass
class Result:
    """What a program did."""
    status: int
    out: bytes
    err: bytes
    seconds: float
    folder: str = ""     # of the traces
    summary: dict = dataclasses.field(default_factory=dict)


def require_files(*paths):
    for path in paths:
        if not os.path.exists(path):
            raise Skip("not built: " + os.path.relpath(path, e2e.BUILD))


def load_json(path):
    """{} where there is none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


class Attempt:
    """Stands for e2e.Checks in the tests' own functions, and sorts what failed."""

    def __init__(self, fault, seed, folder):
        self.fault, self.seed, self.folder = fault, seed, folder
        self.random = random.Random("%s %d" % (fault.key, seed))
        self.harms, self.losses, self.skips, self.checked = [], [], [], 0

    # -- e2e.Checks --------------------------------------------------------------------------------------------------
    def expect(self, condition, what):
        self.checked += 1
        if not condition:
            lost = self.fault.lost and re.search(self.fault.lost, what)
            (self.losses if lost else self.harms).append(what)
            print("FAILED: " + what, flush=True)
        return condition

    def in_time(self, condition, what):
        """What a machine that does something else may miss: not judged among the tests of every day."""
        if condition or os.environ.get("GPUPROF_TEST_TIME") != "0":
            return self.expect(condition, what)
        print("too slow, which is not judged here: " + what, flush=True)
        return condition

    def equal(self, got, wanted, what):
        return self.expect(got == wanted, "%s: got %r, wanted %r" % (what, got, wanted))

    def skip(self, what):
        self.skips.append(what)

    @property
    def failed(self):
        return len(self.harms) + len(self.losses)

    # -- programs ----------------------------------------------------------------------------------------------------
    def path(self, name):
        return os.path.join(self.folder, name)

    def harm(self, what):
        self.checked += 1
        self.harms.append(what)
        print("HARM: " + what, flush=True)

    def lose(self, what):
        self.checked += 1
        self.losses.append(what)
        print("LOST: " + what, flush=True)

    def execute(self, words, env=None, stdin=b"", limit_s=60.0, what="the program", **keywords):
        """Runs it to its end; after limit_s it hangs: harm, and status None."""
        began, limit_s = time.monotonic(), limit_s * staged.patience()
        process = subprocess.Popen(words, env=dict(os.environ, **(env or {})), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **keywords)
        try:
            out, err = process.communicate(stdin, timeout=limit_s)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            status = None
            self.harm("%s hung for %d s: %s" % (what, limit_s, " ".join(words)[-200:]))
        return Result(status, out, err, time.monotonic() - began)

    def run(self, words, options=(), prefix=(), name="out", **keywords):
        """The program under `gpuprof run -q`: what stands on stderr is the program's."""
        folder, summary = self.path(name), self.path(name + ".summary.json")
        command = [*prefix, e2e.GPUPROF, "run", "-q", "-f", "-o", folder, "--summary-json", summary, *options, "--", *words]
        result = self.execute(command, what="gpuprof run", **keywords)
        result.folder, result.summary = folder, load_json(summary)
        return result

    # -- judgement ---------------------------------------------------------------------------------------------------
    def check_same_as_plain(self, profiled, words, what="", stderr=True, ignore=None, **keywords):
        """The program under gpuprof did what it does alone, except for lines that match `ignore`; returns how it was
        alone."""
        plain = self.execute(words, what="the program alone", **keywords)
        again = None
        what = what and what + ": "
        self.equal(profiled.status, plain.status, what + "status")
        for stream in ("out", "err") if stderr else ("out",):
            def output(one):
                return re.sub(ignore, b"", getattr(one, stream)) if ignore else getattr(one, stream)
            a, c = output(plain), output(profiled)
            if a != c:
                again = again or self.execute(words, what="the program alone", **keywords)
                if not same(a, output(again), c):
                    self.harm("%sstd%s: with %r, without %r" % (what, stream, c[-500:], a[-500:]))
        bound = SLOW_FACTOR * plain.seconds + SLOW_EXTRA_S * staged.patience()
        self.expect(profiled.seconds < bound, "%sslow: %.1f s, alone %.1f s" % (what, profiled.seconds, plain.seconds))
        return plain

    def read_traces(self, folder, least=1, what=""):
        """At least so many traces, each a whole file; returns them loaded."""
        loaded, paths = [], e2e.traces(folder)
        for path in paths:
            try:
                trace = e2e.load(path)
                if not (isinstance(trace["traceEvents"], list) and "version" in trace["gpuprof"]):
                    raise ValueError("no trace")
                loaded.append(trace)
            except (OSError, ValueError, KeyError, EOFError) as error:
                self.lose("%sunreadable: %s: %s" % (what and what + ": ", os.path.basename(path), error))
        if len(paths) < least:
            there = sorted(os.listdir(folder)) if os.path.isdir(folder) else "no folder"
            self.lose("%s%d traces, %d are due: %s" % (what and what + ": ", len(paths), least, there))
        self.checked += 1
        return loaded

    def unchanged(self, words, options=(), least=1, stderr=True, run_prefix=(), **keywords):
        """The usual attempt: under gpuprof, alone, and a trace that can be read."""
        profiled = self.run(words, options, run_prefix, **keywords)
        self.check_same_as_plain(profiled, words, stderr=stderr, **keywords)
        self.read_traces(profiled.folder, least)
        return profiled

    # -- end ---------------------------------------------------------------------------------------------------------
    def write(self):
        if not self.checked and not self.skips and not self.harms:
            self.harms.append("nothing was looked at: the harness is wrong")
        with open(self.path("result.json"), "w", encoding="utf-8") as file:
            json.dump({"harms": self.harms, "losses": self.losses, "skips": self.skips, "checked": self.checked}, file)


def main():
    import fault as registry
    key, seed, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if os.environ.get("GPUPROF_TORTURE_PLANT"):
        os.environ["GPUPROF_TORTURE_REAL"] = e2e.GPUPROF
        e2e.GPUPROF = PLANTED
    attempt = Attempt(registry.all_faults()[key], seed, folder)
    try:
        attempt.fault.body(attempt)
    except Skip as reason:
        attempt.skip(str(reason))
    except subprocess.TimeoutExpired as late:
        attempt.harm("hung: %s" % late)
    except SystemExit as end:  # a test's own skip
        if end.code == 77:
            attempt.skip("the test of it cannot run here (log)")
    except Exception as error:  # noqa: BLE001: whatever went wrong, a person has to look at it
        traceback.print_exc()
        attempt.harm("%s: %s" % (type(error).__name__, error))
    attempt.write()


if __name__ == "__main__":
    import attempt as only_one  # the family files' Skip is this module's
    only_one.main()
