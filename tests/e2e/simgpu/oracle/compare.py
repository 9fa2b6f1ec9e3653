# SPDX-License-Identifier: Apache-2.0
"""Compares one log with the reference log and states in messages where they differ."""

import collections
import os
import statistics

from match import Match
from model import KINDS

FIELDS = ("name", "grid", "block", "stream", "device", "context", "bytes", "graph", "node")
DURATION_NS = 1
# A clock that has to be fitted runs at its own rate: PyTorch's profiler converts the time-stamp
# counter, which makes a wait of 80 ms 160 ns longer.
RATE_PPM = 5
START_NS = 5000


def _line(points):
    """Offset and drift of (reference time, difference) by the medians of the first and last quarter."""
    points = sorted(points)
    if not points:
        return 0, 0.0, 0
    origin = points[0][0]
    if len(points) < 8:
        return statistics.median(d for _, d in points), 0.0, origin
    quarter = len(points) // 4
    left, expected = points[:quarter], points[-quarter:]
    x0, x1 = (statistics.median(t - origin for t, _ in part) for part in (left, expected))
    y0, y1 = (statistics.median(d for _, d in part) for part in (left, expected))
    drift = (y1 - y0) / (x1 - x0) if x1 > x0 else 0.0
    return y0 - drift * x0, drift, origin


class Findings:
    """Counts of each kind of difference with the first examples."""

    def __init__(self):
        self.counts = collections.Counter()
        self.examples = collections.defaultdict(list)

    def add(self, what, example):
        self.counts[what] += 1
        if len(self.examples[what]) < 10:
            self.examples[what].append(example)

    def total(self):
        return sum(self.counts.values())


class Comparison:
    """One log of one process against the reference log within its window.

    @param fit      fit the log's clock first (that of gpuprof states its own)
    @param rated    the log converted times from a clock with a rate of its own, as PyTorch's
                    profiler and gpuprof do from the time-stamp counter; gpuprof states how well it knew that rate
    @param kinds    kinds of operations this log records at all
    @param foreign  correlation ids outside of the window, whose records the log may hold
    @param handles  the log may name a thread by its pthread handle, always by the same one:
                    PyTorch's profiler does for threads that ran none of its operators"""

    def __init__(self, reference, recorded, fit, kinds=KINDS, foreign=(), handles=False,
                 rated=False):
        self.reference, self.recorded, self.kinds = reference, recorded, kinds
        self.found = Findings()
        self.threads = set()  # pairs of handle and the reference log's thread id
        if handles:
            self._learn_handles()
        foreign = set(foreign)
        keep = [op for op in recorded.ops if op.corr not in foreign]
        for op in recorded.ops:
            if op.corr in foreign and op.kind != "sync":
                self.found.add("outside of its session: " + op.kind, op.short())
        self.match = Match(_only(reference, reference.ops, kinds), _only(recorded, keep, kinds))
        self.offset, self.drift, self.origin = _line(
            [(t.start, w.start - t.start) for t, w in self.match.pairs]) if fit else (0, 0.0, 0)
        rough_ppm = float(getattr(recorded, "header", {}).get("facts", {}).get("clock.rough_ppm", 0))
        self.rate = max(RATE_PPM, rough_ppm) * 1e-6 if fit or rated else 0.0
        self.own_clock = not fit
        self.worst_duration = self.worst_start = 0
        self._presence()
        self._fields()
        self._times()
        self._order()
        self._links()
        self._calls(foreign)

    def _learn_handles(self):
        """Which thread each handle stands for. Handles are used again when a thread has ended, so
        one may stand for several threads one after the other, but never for two in turns; a thread
        has one name only."""
        runs, names = collections.defaultdict(list), collections.defaultdict(set)
        both = [(expected.start, self.recorded.calls[corr].tid, expected.tid)
                for corr, expected in self.reference.calls.items() if corr in self.recorded.calls]
        for _, handle, thread in sorted(both):
            names[thread].add(handle)
            if not runs[handle] or runs[handle][-1] != thread:
                runs[handle].append(thread)
        self.threads = {(handle, thread) for handle, row in runs.items() for thread in row
                        if row.count(thread) == 1 and len(names[thread]) == 1}

    def _same_thread(self, actual, expected):
        return actual == expected or (actual, expected) in self.threads

    def to_reference_time(self, time):
        """A time of the log on the reference log's clock."""
        at = time - self.offset
        return at - self.drift * (at - self.origin)

    def _presence(self):
        for op in self.match.missing:
            self.found.add("missing " + op.kind, op.short())
        for op in self.match.extra:
            self.found.add("extra " + op.kind, op.short())

    def _fields(self):
        for wanted, got in self.match.pairs:
            for field in FIELDS:
                expected, actual = getattr(wanted, field), getattr(got, field)
                if expected is None or actual is None or expected == actual:
                    continue
                if wanted.kind == "sync" and field == "stream" and -1 in (expected, actual):
                    continue
                self.found.add("wrong " + field, "%s: %s" % (_difference(actual, expected),
                                                             wanted.short()))
            for field in _required(wanted):
                if getattr(got, field) is None:
                    self.found.add("no " + field, wanted.short())

    def _times(self):
        for wanted, got in self.match.pairs:
            off = abs(got.dur - wanted.dur)
            self.worst_duration = max(self.worst_duration, off)
            if off > DURATION_NS + round(self.rate * wanted.dur):
                self.found.add("wrong duration", "%d ns instead of %d: %s"
                               % (got.dur, wanted.dur, wanted.short()))
            late = abs(self.to_reference_time(got.start) - wanted.start)
            self.worst_start = max(self.worst_start, late)
            if late > START_NS:
                self.found.add("wrong start", "%d ns away: %s" % (late, wanted.short()))

    def _order(self):
        rows = collections.defaultdict(list)
        for wanted, got in self.match.pairs:
            if wanted.kind != "sync":
                rows[(wanted.device, wanted.context, wanted.stream)].append((got.start, wanted))
        for row in rows.values():
            row.sort(key=lambda pair: (pair[0], pair[1].start))
            for (_, before), (_, after) in zip(row, row[1:]):
                if after.start < before.start:
                    self.found.add("wrong order", "%s before %s" % (before.short(), after.short()))

    def _links(self):
        """Every operation leads to its launch on the launching thread, by id and by arrow."""
        for wanted, got in self.match.pairs:
            if wanted.kind == "sync":
                continue
            call, expected = self.recorded.calls.get(got.corr), self.reference.calls.get(wanted.corr)
            if call is None:
                self.found.add("no launch", wanted.short())
                continue
            if expected is not None and not self._same_thread(call.tid, expected.tid):
                self.found.add("wrong thread", "launched by %s, not by %s: %s"
                               % (expected.tid, call.tid, wanted.short()))
            if self.recorded.flow_starts.get(got.corr) != call.tid:
                self.found.add("no arrow", wanted.short())
            if not self.recorded.flow_ends[got.corr]:
                self.found.add("arrow without end", wanted.short())

    def _free_time_around_calls(self):
        """{correlation: (end of the call before it on its thread, start of the one behind)}."""
        rows, free_time = collections.defaultdict(list), {}
        for corr, call in self.reference.calls.items():
            rows[call.tid].append((call.start, call.end, corr))
        for row in rows.values():
            row.sort()
            ends = [0] + [end for _, end, _ in row]
            starts = [start for start, _, _ in row] + [float("inf")]
            free_time.update({corr: (ends[i], starts[i + 1]) for i, (_, _, corr) in enumerate(row)})
        return free_time

    def _call_is_off(self, call, expected, free_time):
        """Ours begin before the call does and end behind it, by whatever the thread was kept from running there; a
        clock that had to be fitted is near."""
        if not self.own_clock:
            return abs(self.to_reference_time(call.start) - expected.start) > START_NS
        before, behind = free_time
        return not (before - START_NS <= call.start <= expected.start + START_NS
                    and expected.end - START_NS <= call.end <= behind + START_NS)

    def _calls(self, foreign):
        free_time = self._free_time_around_calls()
        for corr in self.recorded.duplicate_calls:
            self.found.add("call twice", "correlation %s" % corr)
        for corr, call in self.recorded.calls.items():
            expected = self.reference.calls.get(corr)
            if expected is None:
                if corr not in foreign:
                    self.found.add("extra call", "%s correlation %s" % (call.name, corr))
            elif call.name != expected.name:
                self.found.add("wrong call", "%s instead of %s" % (call.name, expected.name))
            elif not self._same_thread(call.tid, expected.tid):
                self.found.add("wrong thread of call", "%s: %s instead of %s"
                               % (call.name, call.tid, expected.tid))
            elif self._call_is_off(call, expected, free_time[corr]):
                self.found.add("wrong start of call", "%s %d ns away, its end %d" % (
                    call.name, self.to_reference_time(call.start) - expected.start, call.end - expected.end))

    def summary(self):
        """One row: counts of reference and log by kind, and the worst times."""
        cells = ["%s %d/%d" % (kind, self.reference.count(kind), sum(
            w.kind == kind for _, w in self.match.pairs)) for kind in self.kinds]
        return "%-6s %s | calls %d | missing %d extra %d wrong %d | duration <= %d ns, start <= %.2f us%s" % (
            self.recorded.name, ", ".join(cells), len(self.recorded.calls), len(self.match.missing),
            len(self.match.extra), self.found.total() - len(self.match.missing)
            - len(self.match.extra), self.worst_duration, self.worst_start / 1000,
            " (drift %.1f ppm)" % (self.drift * 1e6) if self.drift else "")

    def failures(self):
        """Sentences, ten examples of each kind."""
        return ["%s: %s (%d in all): %s" % (self.recorded.name, what, self.found.counts[what], text)
                for what in sorted(self.found.counts) for text in self.found.examples[what]]


def _difference(actual, expected):
    """Both values; of long names only where they part."""
    if not isinstance(expected, str) or len(expected) < 200:
        return "%r instead of %r" % (actual, expected)
    at = len(os.path.commonprefix([actual, expected]))
    return "%d characters instead of %d, from character %d: %r instead of %r" % (
        len(actual), len(expected), at, actual[at:at + 60], expected[at:at + 60])


def _required(op):
    """Fields a log has to state."""
    return {"kernel": ("name", "grid", "block", "stream", "device", "context"),
            "memcpy": ("name", "bytes", "stream", "device"),
            "memset": ("bytes", "stream", "device"),
            "sync": ("name",)}[op.kind]


def _only(recorded, ops, kinds):
    part = type(recorded)(recorded.name)
    part.ops = [op for op in ops if op.kind in kinds]
    return part
