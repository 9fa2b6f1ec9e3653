# SPDX-License-Identifier: Apache-2.0
"""--max-overhead: programs that cost more than they may are recorded less, one reduction after the other, and every
place says so; what is measured afterwards is below the limit, and one with room has everything.

usage: overhead_test.py [--torch]      (a simulated GPU's launches and samples, or PyTorch's operators)"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

import e2e
import sim
from torch_python import python_with_torch

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
STORM = os.path.join(e2e.SIMGPU, "sim_storm")


class Run:
    """One run: the summary, the traces, and what was printed while it ran."""

    def __init__(self, name, options, command, limit, observe=None):
        with e2e.Folder("overhead-" + name) as folder:
            summary = os.path.join(folder, "summary.json")
            out = os.path.join(folder, "out")
            line = [e2e.GPUPROF, "run", "-v", "--max-overhead", limit, *options, "-o", out, "--summary-json",
                    summary, "--", *command]
            with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                self.seen = observe(process) if observe else None
                self.stdout, self.stderr = process.communicate(timeout=e2e.PATIENCE_S)
            self.status = process.returncode
            with open(summary, encoding="utf-8") as file:
                self.results = json.load(file)
            self.traces = [e2e.load(path) for path in e2e.traces(out)]
        self.left_out = self.results["left_out"]
        self.what = [one["what"] for one in self.left_out]
        self.overhead = self.results["overhead"]
        print("  %s, limit %s: worst second %.2f %%, last %.2f %%; left out: %s"
              % (name, limit, self.overhead["highest_percent"], self.overhead["last_percent"], self.what))

    def settled(self):
        """A whole second was measured after the last reduction; until then the last second is the one before it."""
        last_ns = max((one["since_ns"] for one in self.left_out), default=0)
        return self.results["windows"][-1]["end_ns"] - last_ns > 1.5e9

    def marks(self):
        return [event for trace in self.traces for event in trace["traceEvents"]
                if event.get("cat") == "nvtx_mark" and event["args"].get("domain") == "gpuprof"]


def check_reported(checks, run, name, limit_percent):
    """Each reduction has its sentence, its mark and its figures."""
    checks.equal(run.status, 0, name + ": status")
    checks.equal(len(run.marks()), len(run.left_out), name + ": marks")
    missing = run.traces[-1]["gpuprof"]["missing"]
    for one in run.left_out:
        messages = [text for text in run.results["missing"] if text.startswith(one["what"])]
        checks.equal(len(messages), 1, name + ": messages of the summary that say " + one["what"])
        checks.expect(any(text.startswith(one["what"]) and " of thread %d " % one["tid"] in text
                          for text in missing), name + ": the trace says " + one["what"])
        checks.expect(one["what"] in run.stderr.split("the program has ended")[0],
                      name + ": said live: " + one["what"])
        checks.expect(one["percent"] > limit_percent, "%s: taken at %r %%" % (name, one["percent"]))
        times = [mark["ts"] for mark in run.marks() if one["what"] in mark["name"]]
        base_us = run.traces[0]["baseTimeNanoseconds"] / 1000
        checks.equal(len(times), 1, name + ": one mark says " + one["what"])
        checks.expect(base_us >= 0 and times and times[0] >= 0, name + ": the mark has a time")
    facts = run.traces[-1]["gpuprof"]["facts"]
    checks.expect(float(facts["overhead.own_ns"]) > 0, name + ": facts: %r" % facts.get("overhead.own_ns"))


def check_below_limit(checks, run, name):
    checks.equal(run.status, 0, name + ": status")
    checks.expect(run.overhead["highest_percent"] > 0, name + ": it measures itself")
    # A thread that is stopped within our code has spent that time there.
    checks.in_time(run.what == [], "%s: nothing is left out: %r" % (name, run.what))
    checks.equal(len(run.marks()), len(run.what), name + ": no marks")


def storm(launches, *simulated):
    return [sim.GPUSIM_RUN, "--quiet", *simulated, "--api-cost", "0", "--kernel-time", "500ns", "--", STORM, "--launches",
            str(launches), "--streams", "2", "--rate", "50000"]


OF_CUPTI = ("no CUPTI buffer left", "dropped by CUPTI")
# On a busy machine what calls cost may be below the limit for most of a short run.
LONGER = (1, 2, 4, 8)


def leaves_calls_out(run):
    return any(text.startswith("CUDA API calls") for text in run.what)


def reported_live(run):
    """All that was left out was reported before the program's end."""
    errors = run.stderr.split("the program has ended")[0]
    return all(what in errors for what in run.what)


def missing_of(run, pattern):
    return [text for text in run.results["missing"] if re.search(pattern, text)]


def check_kernels(checks, run, launches, name):
    """The limit costs none. What a ring had no room for, on a busy machine, is reported, and that CUPTI had no buffer or
    the program began or ended before our threads could ask it for all: nobody knows how many records those were."""
    kernels, lost = (run.results[kinds].get("kernels", 0) for kinds in ("events_by_kind", "ring_drops_by_kind"))
    unknown = [why for why in OF_CUPTI if run.results["drops_by_reason"].get(why)]
    unknown += missing_of(run, sim.LATE + "|final flush did not finish")
    checks.in_time(lost == 0 and not unknown, "%s: %d kernels found the ring full; %s" % (name, lost, unknown))
    if not unknown:
        checks.equal(kernels + lost, launches, name + ": every kernel is there: %s" % run.results["missing"])
    checks.expect(kernels + lost <= launches, "%s: each kernel once: %d" % (name, kernels + lost))


def describe_calls(run):
    """For whoever looks for what is not: the numbers, what was reported, and where ids of calls are left out."""
    calls = sorted(event["args"]["correlation"] for trace in run.traces for event in trace["traceEvents"]
                   if event.get("cat") == "runtime")
    gaps = [(one, after) for one, after in zip(calls, calls[1:]) if after > one + 1]
    results = {key: run.results[key] for key in ("events_by_kind", "ring_drops_by_kind", "drops_by_reason", "missing")}
    return "%s; ids %s to %s without those between %s" % (results, calls[:1], calls[-1:], gaps[:8])


def check_kinds_that_stay_on(checks):
    name = "launches, kinds stay on"
    for times in LONGER:
        launches = times * 100_000
        with e2e.Folder("overhead-calls") as folder:
            log = os.path.join(folder, "calls.jsonl")
            simulated = ("--layout", "12.9", "--scenario", "disable-hangs", "--log", log)
            run = Run(name, [], storm(launches, *simulated), "0.2%")
            with open(log, "rb") as file:
                calls = [json.loads(line) for line in file.read().replace(b"\0", b"").splitlines()]
        if leaves_calls_out(run) and run.results["events_by_kind"].get("API calls", 0) < launches:
            break
    checks.expect(leaves_calls_out(run), name + ": calls: %r" % run.what)
    checks.equal([call for call in calls if call.get("f") == "cuptiActivityDisable"], [],
                 name + ": nothing is switched off before CUDA 13.0 Update 1")
    check_kernels(checks, run, launches, name)
    checks.expect(run.results["events_by_kind"].get("API calls", 0) < launches, name + ": calls until then")


def check_launches(checks):
    name = "launches"
    for times in LONGER:
        launches = times * 200_000
        run = Run(name, [], storm(launches), "0.2%")
        if run.settled() and leaves_calls_out(run) and reported_live(run):
            break
    check_reported(checks, run, name, 0.2)
    checks.expect(run.what and run.what[0].startswith("stacks"), name + ": stacks first: %r" % run.what)
    checks.expect(leaves_calls_out(run), name + ": calls: %r" % run.what)
    checks.in_time(run.overhead["last_percent"] < 0.2, name + ": below the limit afterwards")
    check_kernels(checks, run, launches, name)
    kinds = run.results["events_by_kind"]
    checks.expect(0 < kinds.get("API calls", 0) < launches, name + ": calls until then: %r" % kinds)
    since_ns = min(one["since_ns"] for one in run.left_out)
    checks.expect(since_ns > run.results["windows"][0]["start_ns"], name + ": since when")

    check_kinds_that_stay_on(checks)

    launches = 100_000
    for _ in range(sim.TRIES):
        room = Run("launches with room", [], storm(launches), "50%")
        if not missing_of(room, sim.LATE):
            break
    check_below_limit(checks, room, "room")
    check_kernels(checks, room, launches, "room")
    if not leaves_calls_out(room):
        calls = sum(room.results[kinds].get("API calls", 0) for kinds in ("events_by_kind", "ring_drops_by_kind"))
        checks.expect(calls >= launches, "room: every call: %d; %s" % (calls, describe_calls(room)))


def status_with_less(process):
    """The first answers of `gpuprof status`, as JSON and as text, that both say that something is left out: the program
    may end between them."""
    while process.poll() is None:
        status = subprocess.run([e2e.GPUPROF, "status", "--json"], capture_output=True, timeout=e2e.PATIENCE_S, text=True)
        for one in json.loads(status.stdout or "[]"):
            if one["left_out"] and "deep.py" in one["command"]:
                text = subprocess.run([e2e.GPUPROF, "status"], capture_output=True, timeout=e2e.PATIENCE_S, text=True).stdout
                if "does not record, to stay below --max-overhead" in text:
                    return one["left_out"], text
        time.sleep(0.1)
    return None


def check_samples(checks):
    name = "samples"
    python = e2e.real_python("/usr/bin/python3") or sys.executable
    for times in LONGER:
        run = Run(name, ["-r", "1000"], [python, os.path.join(PROGRAMS, "deep.py"), str(5 * times)], "0.1%",
                  status_with_less)
        halved = [text for text in run.what if "times a second instead of 1000" in text]
        if halved and run.seen and reported_live(run):
            break
    check_reported(checks, run, name, 0.1)
    checks.expect(run.what and run.what[0].startswith("stacks"), name + ": stacks first: %r" % run.what)
    checks.expect(halved and "500 times" in halved[0], name + ": then half the rate: %r" % run.what)
    checks.in_time(run.overhead["last_percent"] < 0.1, name + ": below the limit afterwards")
    rate = run.overhead["effective_rate_hz"]
    checks.expect(rate in (500, 250, 125), name + ": the rate in the end: %r" % rate)
    checks.expect(run.seen and "stacks" in run.seen[0], name + ": status, status --json: %r" % (run.seen,))


def check_operators(checks):
    python = python_with_torch()
    if python is None:
        e2e.skip("no Python with PyTorch")
    name = "operators"
    wanted = ["stacks", "CUDA API calls, operator inputs", "operators and NVTX ranges", "steps are no longer"]
    for times in LONGER:
        run = Run(name, [], [python, os.path.join(PROGRAMS, "operators.py"), str(8 * times)], "1%")
        at = [next((i for i, text in enumerate(run.what) if text.startswith(word)), -1) for word in wanted]
        if -1 not in at and reported_live(run):
            break
    check_reported(checks, run, name, 1)
    checks.expect(-1 not in at and at == sorted(at), name + ": in this order: %r" % run.what)
    checks.in_time(run.overhead["last_percent"] < 1, name + ": below the limit afterwards")
    checks.expect(run.results["events_by_kind"].get("operators", 0) > 0, name + ": operators until then")
    unfinished = [event for trace in run.traces for event in trace["traceEvents"]
                  if event.get("cat") == "cpu_op" and event.get("dur", 0) > 1e6]
    checks.equal(unfinished, [], name + ": no operator lasts until the end")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="store_true")
    arguments = parser.parse_args()
    checks = e2e.Checks()
    if arguments.torch:
        check_operators(checks)
    else:
        sim.require_build()
        check_launches(checks)
        check_samples(checks)
    checks.done()


if __name__ == "__main__":
    sys.exit(main())
