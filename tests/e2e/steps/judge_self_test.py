# SPDX-License-Identifier: Apache-2.0
"""The judge of steps must find every kind of wrong answer, and none in a right one.

Right answers: a made-up trace, and torch.profiler's own trace of a program that marks its steps."""

import copy
import json
import os
import subprocess
import sys

import e2e
import judge
import steps_test
import torch_trace
from torch_trace import Operator, Step, Trace

US = 1000


def synthetic(count=6, fetch=False):
    """Steps of 100 us: a fetch of 5 at its head, operators at 10..20, 30..60, 70..90."""
    trace, truth = Trace(), []
    trace.operators.append(Operator("aten::randn", 0, 50 * US, 1, {}, "cpu_op"))
    for i in range(count):
        zero = (100 + 100 * i) * US
        truth.append([zero + 8 * US, zero + 95 * US])
        if fetch:
            trace.operators.append(Operator(judge.FETCH + "#x.__next__", zero + US, zero + 5 * US, 1,
                                            {}, "cpu_op"))
        for begin, end in ((10, 20), (30, 60), (70, 90)):
            trace.operators.append(Operator("aten::mm", zero + begin * US, zero + end * US, 1, {},
                                            "cpu_op"))
        start = zero + (1 if fetch else 10) * US
        trace.steps.append(Step(start, start + 100 * US, i + 1, 1, {}))
    trace.steps[-1].end = (100 * count + 91) * US
    return trace.sort(), truth


def shifted(trace, by):
    for step in trace.steps:
        step.start += by
        step.end += by


def merged(trace):
    trace.steps[2].end = trace.steps[3].end
    del trace.steps[3]
    for i, step in enumerate(trace.steps):
        step.label = i + 1


def split(trace):
    """One step becomes two, all numbers follow."""
    late = copy.copy(trace.steps[2])
    late.start = trace.steps[2].end = (late.start + late.end) // 2
    trace.steps.insert(3, late)
    for i, step in enumerate(trace.steps):
        step.label = i + 1


def moved(trace, by):
    """Number and labels stay, every boundary lies one operator off."""
    for step in trace.steps:
        step.start += by
        step.end += by


def into_first_operator(trace):
    """By how much depends on the pace of the machine."""
    gaps = [min(o.start for o in trace.operators if o.start >= step.start) - step.start
            for step in trace.steps]
    moved(trace, max(gaps) + 3 * US)


LIES = {
    "the last step is missing": lambda t: t.steps.pop(),
    "the first step is missing": lambda t: t.steps.pop(0),
    "two steps are one": merged,
    "one step is two": split,
    "a step begins within its first operator": into_first_operator,
    "a step begins within the one before": lambda t: moved(t, -25 * US),
    "all steps are one late": lambda t: shifted(t, 100 * US),
    "a step begins in its middle": lambda t: setattr(t.steps[3], "start",
                                                     (t.steps[3].start + t.steps[3].end) // 2),
    "a step ends early": lambda t: setattr(t.steps[1], "end", t.steps[1].end - 30 * US),
    "steps overlap": lambda t: setattr(t.steps[1], "end", t.steps[2].start + 5 * US),
    "labels from 0": lambda t: [setattr(s, "label", s.label - 1) for s in t.steps],
    "a label twice": lambda t: setattr(t.steps[2], "label", 2),
    "none": lambda t: t.steps.clear(),
    "a step before the first": lambda t: t.steps.insert(0, Step(0, 105 * US, 0, 1, {})),
    "no operators": lambda t: t.operators.clear(),
}


def found(checks, trace, truth, what, **keywords):
    checks.equal(judge.check_steps(truth, trace, **keywords), [], what + ": a right answer")
    for lie, description in LIES.items():
        altered = copy.deepcopy(trace)
        description(altered)
        checks.expect(judge.check_steps(truth, altered, **keywords), "%s: not found: %s" % (what, lie))


def exact(checks):
    """Two nanoseconds behind the first operator, or before the last one's end, are wrong."""
    for name, by in (("start", 2), ("end", -2 - 20 * US)):
        trace, truth = synthetic()
        setattr(trace.steps[3], name, getattr(trace.steps[3], name) + by)
        checks.equal(len(judge.check_steps(truth, trace)), 1, "a boundary off by 2 ns: " + name)


def fetches(checks):
    trace, truth = synthetic(fetch=True)
    found(checks, trace, truth, "with a loader")
    for step in trace.steps:
        step.start += 7 * US  # behind the fetch, before the first operator
        step.end += 7 * US
    checks.expect(judge.check_steps(truth, trace), "not found: the fetch belongs to the step before")


def windows(checks):
    trace, truth = synthetic()
    whole = copy.deepcopy(trace)
    trace.steps = trace.steps[2:4]
    begin, end = trace.steps[0].start, trace.steps[-1].end
    trace.operators = [o for o in trace.operators if begin <= o.start < end]
    checks.equal(judge.check_steps(truth, trace, first=2, count=2, label=3), [], "a window")
    checks.equal(judge.outside(trace), [], "a window holds its steps only")
    checks.expect(judge.check_steps(truth, trace, first=3, count=2, label=3), "not found: wrong window")
    whole.steps = trace.steps
    checks.expect(judge.outside(whole), "not found: operators of other steps")


def of_torch(checks, python, folder):
    """What torch.profiler states about a program that calls prof.step()."""
    path = os.path.join(folder, "kineto.json")
    subprocess.run([python, os.path.join(steps_test.PROGRAMS, "user_schedule.py"), path],
                   env=steps_test.environment(folder), check=True, capture_output=True, timeout=600)
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
        noted = json.load(file)
    trace = torch_trace.read_kineto(path, noted["real_ns"] - noted["mono_ns"])
    found(checks, trace, noted["steps"], "torch.profiler", first=4, count=8, slack_ns=2 * US,
          labels=noted["labels"])


def main():
    checks = e2e.Checks()
    trace, truth = synthetic()
    found(checks, trace, truth, "made up")
    exact(checks)
    fetches(checks)
    windows(checks)
    with e2e.Folder("judge") as folder:
        if "--torch" in sys.argv[1:]:
            of_torch(checks, steps_test.python_with_torch(), folder)
    checks.done()


if __name__ == "__main__":
    main()
