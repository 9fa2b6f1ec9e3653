# SPDX-License-Identifier: Apache-2.0
"""Our times of kernels against the program's: CUDA events around each, and its own clock before and after."""

import statistics

from context import last_json
from part import Part, judged, told

KERNELS = 200
MOST_OUTSIDE_NS = 5_000  # of a kernel before its call, or beyond the wait for it: two clocks are laid beside each other


def run(context):
    recording = context.record("clocks", context.driver("events", "--steps", KERNELS if not context.simulated else 60),
                               "--span-size", "100000000", keep=True)
    said = last_json(recording.done.out).get("kernels", [])
    ours = sorted(recording.seen().of("kernel"), key=lambda one: one.start)
    good = 0 < len(said) == len(ours)
    yield judged("kernels", good, "%d of %d" % (len(ours), len(said)), "all", recording.done.words())
    if not good:
        return
    outside = [max(one["before_ns"] - kernel.start, kernel.end - one["after_ns"], 0) for one, kernel in zip(said, ours)]
    yield judged("between the program's own times", max(outside) <= MOST_OUTSIDE_NS, "%d of %d outside, by %.1f us at most" % (
        sum(ns > 0 for ns in outside), len(outside), max(outside) / 1e3), "none by more than %g us" % (MOST_OUTSIDE_NS / 1e3))
    # An event is reached before the kernel begins and after it has ended: the event's time is never the shorter one,
    # but for its own resolution of half a microsecond.
    more = [one["event_ns"] - (kernel.end - kernel.start) for one, kernel in zip(said, ours)]
    yield judged("no kernel longer than its events", min(more) >= -1000, "events %.1f us longer in the middle, %.1f at least" % (
        statistics.median(more) / 1e3, min(more) / 1e3), "at least -1 us")
    lengths = [kernel.end - kernel.start for kernel in ours]
    yield told("kernels' times", "%.1f to %.1f us; clock: %s" % (min(lengths) / 1e3, max(lengths) / 1e3,
                                                                recording.seen().fact("clock.1") or "unknown"))


PART = Part("clocks", "times of kernels against the program's events and clock", 30, (), run)
