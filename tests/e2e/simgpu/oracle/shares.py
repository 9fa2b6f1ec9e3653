# SPDX-License-Identifier: Apache-2.0
"""Who got which share of the reference log when the program profiles itself while we record."""

import dataclasses
import json
import os

import read_trace
import read_truth
import run as runner
from compare import Comparison

# Kinds PyTorch's profiler requests by default; waits are not among them.
KINETO_KINDS = ("kernel", "memcpy", "memset")


@dataclasses.dataclass
class Share:
    """One phase: operations in the reference log, in gpuprof's trace, in PyTorch's trace (None: it was not profiling)."""
    what: str
    reference: int
    recorded: int
    kineto: int
    comparison: object = None  # comparison of PyTorch's trace with the reference log of its session

    def row(self):
        return "%-8s truth %5d  ours %5d  kineto %s" % (
            self.what, self.reference, self.recorded, "    -" if self.kineto is None else "%5d" % self.kineto)


class Shares:
    """@param run  a finished run of own_profiler.py"""

    def __init__(self, run):
        with open(os.path.join(run.folder, "phases.json"), encoding="utf-8") as file:
            self.phases = json.load(file)
        (self.pid,) = [pid for pid in run.reference if _used(run, pid)]
        self.whole, _ = runner.reference_of(run, self.pid)
        self.recorded = self.header = None
        if self.pid in run.recorded:
            log = runner.recorded_of(run, self.pid)
            self.header = log.header
            # After a session of PyTorch's profiler CUPTI's clock is the time-stamp counter.
            self.recorded = Comparison(self._recorded(), log, fit=False, kinds=KINETO_KINDS,
                                       rated=True)
        self.rows = [self._share(phase) for phase in self.phases]

    def _recorded(self):
        """The reference log of our window: the whole run unless a delay was requested."""
        window = self.header["window"]
        begin = window["start_ns"]
        return read_truth.within(self.whole, begin, begin + window["duration_ns"])

    def _share(self, phase):
        part = read_truth.within(self.whole, phase["begin_ns"], phase["end_ns"])
        share = Share(phase["what"], _count(part.ops), 0, None)
        if self.recorded:
            share.recorded = _count(t for t, _ in self.recorded.match.pairs if t.corr in part.calls)
        if "trace" in phase:
            outside = set(self.whole.calls) - set(part.calls)
            share.comparison = Comparison(part, read_trace.read_kineto(phase["trace"]), True, KINETO_KINDS,
                                          outside, handles=True)
            share.kineto = len(share.comparison.match.pairs)
        return share

    def lost_outside_of_sessions(self, before_ns, after_ns):
        """What we miss although PyTorch's profiler had no session then, but for `before_ns` and
        `after_ns` around each."""
        sessions = [(p["asked_ns"] - before_ns, p["over_ns"] + after_ns)
                    for p in self.phases if p["what"] == "profile"]
        lost = []
        for op in self.recorded.match.missing if self.recorded else []:
            launched = self.whole.calls[op.corr].start
            if not any(begin <= launched <= end for begin, end in sessions):
                lost.append(op)
        return lost

    def other_failures(self):
        """All that is wrong with ours but what is missing."""
        found = self.recorded.found
        return {what: count for what, count in found.counts.items()
                if not what.startswith("missing")}


def _used(run, pid):
    return any(row["t"] == "op" for row in read_truth.rows(run.reference[pid]))


def _count(ops):
    return sum(op.kind in KINETO_KINDS for op in ops)


def check_kineto(checks, name, shares):
    """PyTorch's own profiler has lost nothing to us."""
    for share in shares.rows:
        if share.comparison is None:
            continue
        checks.expect(share.reference and share.kineto == share.reference,
                      "%s: PyTorch's profiler has %s of %d records" % (name, share.kineto, share.reference))
        for difference in share.comparison.failures():
            checks.expect(False, "%s: %s" % (name, difference))
