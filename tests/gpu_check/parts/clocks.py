# SPDX-License-Identifier: Apache-2.0
"""Our times of kernels against the program's: CUDA events around each, and its own clock before and after. Once more
behind a session of PyTorch's profiler, which leaves a clock of its own in CUPTI."""

import statistics

from context import last_json
from part import Part, checked_row, not_asked, info_row

KERNELS, SIMULATED = 200, 60
NAME = "gpu_check_spin"
MOST_MORE_NS = 10_000
MOST_OUTSIDE_NS = 5_000  # of a kernel before its call, or beyond the wait for it: two clocks are laid beside each other


def outside(printed, every):
    """By how much each pair of kernels leaves the times that the program took around it."""
    return [max(one["before_ns"] - first.start, kernel.end - one["after_ns"], 0)
            for one, first, kernel in zip(printed, every[::2], every[1::2])]


def rows(context, recording, where=""):
    printed, seen = last_json(recording.done.out).get("kernels", []), recording.trace()
    every = sorted((one for one in seen.of("kernel") if one.name == NAME), key=lambda one: one.start)
    good = 0 < 2 * len(printed) == len(every)
    yield checked_row("kernels" + where, good, "%d of %d" % (len(every), 2 * len(printed)), "all", recording.done.last_lines())
    if not good:
        return
    beyond = outside(printed, every)
    yield checked_row("between the program's own times" + where, max(beyond) <= MOST_OUTSIDE_NS,
                      "%d of %d outside, by %.1f us at most" % (sum(ns > 0 for ns in beyond), len(beyond), max(beyond) / 1e3),
                      "none by more than %g us" % (MOST_OUTSIDE_NS / 1e3))
    measured = [one.end - one.start for one in every[1::2]]  # the one before each only keeps the device busy
    # The events are reached before the kernel begins and after it has ended; their own resolution is half a microsecond.
    more = [one["event_ns"] - length for one, length in zip(printed, measured)]
    middle = statistics.median(more)
    good = min(more) >= -1000 and (middle <= MOST_MORE_NS or context.simulated)
    most = ", up to %g us in the middle" % (MOST_MORE_NS / 1e3) if not context.simulated else ""
    yield checked_row("as long as between its events" + where, good, "events %.1f us longer in the middle, %.1f at least" % (
        middle / 1e3, min(more) / 1e3), "-1 us at least" + most)
    yield info_row("kernels' times" + where, "%.1f to %.1f us; clock: %s" % (
        min(measured) / 1e3, max(measured) / 1e3, seen.fact("clock.2") or seen.fact("clock.1") or "unknown"))


def run(context):
    command = context.driver("events", "--steps", SIMULATED if context.simulated else KERNELS)
    yield from rows(context, context.record("clocks", command, "--span-size", "100000000", keep=True))
    lacks = context.lacks("torch")
    if lacks:
        yield not_asked("kernels, after a session", lacks)
        return
    command = context.program("events_after_session.py", KERNELS)
    yield from rows(context, context.record("clocks-session", command, "--span-size", "100000000", keep=True), ", after a session")


PART = Part("clocks", "times of kernels against the program's events and clock", 45, (), run)
