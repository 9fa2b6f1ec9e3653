# SPDX-License-Identifier: Apache-2.0
"""Our times of kernels against the program's: CUDA events around each, and its own clock before and after."""

import statistics

from context import last_json
from part import Part, judged, told

KERNELS = 200
MOST_MORE_NS = 10_000
MOST_OUTSIDE_NS = 5_000  # of a kernel before its call, or beyond the wait for it: two clocks are laid beside each other


def run(context):
    recording = context.record("clocks", context.driver("events", "--steps", KERNELS if not context.simulated else 60),
                               "--span-size", "100000000", keep=True)
    said = last_json(recording.done.out).get("kernels", [])
    seen = recording.seen()
    every = sorted(seen.of("kernel"), key=lambda one: one.start)
    good = 0 < 2 * len(said) == len(every)
    yield judged("kernels", good, "%d of %d" % (len(every), 2 * len(said)), "all", recording.done.words())
    if not good:
        return
    ours = every[1::2]  # the one before it only keeps the device busy
    outside = [max(one["before_ns"] - first.start, kernel.end - one["after_ns"], 0)
               for one, first, kernel in zip(said, every[::2], ours)]
    yield judged("between the program's own times", max(outside) <= MOST_OUTSIDE_NS, "%d of %d outside, by %.1f us at most" % (
        sum(ns > 0 for ns in outside), len(outside), max(outside) / 1e3), "none by more than %g us" % (MOST_OUTSIDE_NS / 1e3))
    # The events are reached before the kernel begins and after it has ended; their own resolution is half a microsecond.
    more = [one["event_ns"] - (kernel.end - kernel.start) for one, kernel in zip(said, ours)]
    middle = statistics.median(more)
    good = min(more) >= -1000 and (middle <= MOST_MORE_NS or context.simulated)
    yield judged("as long as between its events", good, "events %.1f us longer in the middle, %.1f at least" % (
        middle / 1e3, min(more) / 1e3), "-1 us at least, up to %g us in the middle" % (MOST_MORE_NS / 1e3)
                 if not context.simulated else "-1 us at least")
    lengths = [kernel.end - kernel.start for kernel in ours]
    yield told("kernels' times", "%.1f to %.1f us; clock: %s" % (min(lengths) / 1e3, max(lengths) / 1e3,
                                                                seen.fact("clock.1") or "unknown"))


PART = Part("clocks", "times of kernels against the program's events and clock", 30, (), run)
