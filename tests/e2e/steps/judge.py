# SPDX-License-Identifier: Apache-2.0
"""Holds the steps of a trace against the hidden marker of the program: number, labels, boundaries.

A boundary is right if it lies between the last operator of the step before and the first of its own."""

import bisect
import dataclasses
import json

FETCH = "enumerate(DataLoader)"


@dataclasses.dataclass
class Body:
    """The operators of one true step."""
    first: int   # start of the first
    last: int    # end of the last
    before: int  # end of the last operator of anything earlier that belongs to no step


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class StepChecker:
    """`slack_ns`: how far the clocks of trace and marker may differ; `open_head`: how early the first
    step begins is left to it, since packages fetch and prepare at the head of their loops."""

    def __init__(self, truth, trace, slack_ns=0, open_head=False):
        self.truth, self.open_head = truth, open_head
        self.slack = slack_ns
        tid = trace.steps[0].tid if trace.steps else None
        self.operators = [o for o in trace.operators if tid is None or o.tid == tid]
        self.starts = [o.start for o in self.operators]

    def between(self, begin, end):
        low = bisect.bisect_left(self.starts, begin - self.slack)
        return self.operators[low:bisect.bisect_right(self.starts, end + self.slack)]

    def body(self, index):
        begin, end = self.truth[index]
        inside = self.between(begin, end)
        if not inside:
            return None
        earlier_end = self.truth[index - 1][1] if index else begin
        earlier = self.between(self.truth[index - 1][0] if index else 0, earlier_end)
        if not index:  # what the loader fetched for the first step is part of it
            fetch = [o for o in earlier if o.name.startswith(FETCH)]
            earlier = [o for o in earlier if not fetch or o.end < fetch[-1].start]
            earlier = [o for o in earlier if o.start < inside[0].start and not self.open_head]
        return Body(inside[0].start, max(o.end for o in inside),
                    max((o.end for o in earlier), default=0))

    def fetched(self, index):
        """Start of the loader's fetch for a step, if it was recorded."""
        begin = self.truth[index - 1][1] if index else 0
        found = [o.start for o in self.between(begin, self.truth[index][0])
                 if o.name.startswith(FETCH)]
        return found[-1] if found else None

    def step(self, index, step, following):
        """What is wrong with one step."""
        body = self.body(index)
        name = "step %d (true step %d)" % (step.label, index + 1)
        if body is None:
            return ["%s: the trace holds none of its operators" % name]
        wrong = []
        if step.start > body.first + 1:
            wrong.append("%s begins %.3f us after its first operator"
                         % (name, (step.start - body.first) / 1e3))
        if step.start < body.before - 1:
            wrong.append("%s begins %.3f us before the end of the last operator of the one before"
                         % (name, (body.before - step.start) / 1e3))
        if step.end < body.last - 1:
            wrong.append("%s ends %.3f us before its last operator"
                         % (name, (body.last - step.end) / 1e3))
        if following is not None and step.end > following.start + 1:
            wrong.append("%s ends after the next one begins" % name)
        fetch = self.fetched(index)
        if fetch is not None and fetch < step.start - 1:
            wrong.append("%s leaves the fetch of its batch to the one before" % name)
        return wrong


def check_steps(truth, trace, first=0, count=None, label=1, tail=0, slack_ns=0,
                open_head=False, labels=None):
    """Sentences on what is wrong; none if all is right.

    `first`, `count`: which true steps the trace holds (all); `label`: what the first of them is
    called, which the others count on from; `labels`: what each true step is called instead; `tail`: so
    many steps without any operator may follow."""
    count = len(truth) - first if count is None else count
    steps = list(trace.steps)
    checker = StepChecker(truth, trace, slack_ns, open_head)
    while tail and len(steps) > count and not checker.between(steps[-1].start, steps[-1].end):
        steps.pop()
        tail -= 1
    wrong = []
    if len(steps) != count:
        wrong.append("%d steps instead of %d" % (len(steps), count))
    found = [step.label for step in steps]
    expected = labels[first:][:len(steps)] if labels else list(range(label, label + len(steps)))
    if found != expected:
        wrong.append("labels %s… instead of %s…" % (found[:6], expected[:6]))
    for i in range(min(len(steps), count)):
        following = steps[i + 1] if i + 1 < len(steps) else None
        wrong += checker.step(first + i, steps[i], following)
    return wrong


def outside(trace, truth=(), following=0):
    """Operators of the step's thread that a window of whole steps should not hold: what ran before
    its first, or from the true step `following` (counted from 0) on. What follows the last step of
    an epoch may be there."""
    if not trace.steps:
        return trace.operators
    begin, end = trace.steps[0].start - 1, trace.steps[-1].end + 1
    if following < len(truth):
        end = max(end, truth[following][0])
    tid = trace.steps[0].tid
    return [o for o in trace.operators if o.tid == tid and not begin <= o.start <= end]
