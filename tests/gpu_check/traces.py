# SPDX-License-Identifier: Apache-2.0
"""What a trace of gpuprof, or of torch.profiler, states about GPU work; and whether it can be true."""

import bisect
import collections
import dataclasses
import glob
import gzip
import json
import os

KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}
CALLS = ("runtime", "cuda_runtime", "cuda_driver")
MARGIN_NS = 1_000_000  # of gpuprof: time 0 is this long before the window (docs/trace-format.md)
ROUNDING_NS = 1  # of times in a file


@dataclasses.dataclass
class Work:
    kind: str
    name: str
    start: int
    end: int
    args: dict

    def shape(self):
        return self.kind, self.args.get("bytes"), tuple(self.args.get("grid", ())), tuple(self.args.get("block", ()))

    def key(self):
        """What two sources of one program must agree on. A set has no name of its own."""
        return (self.name if self.kind != "set" else "", *self.shape())

    def correlation(self):
        return self.args.get("correlation")


@dataclasses.dataclass
class GpuTrace:
    """One or several files of one process."""
    work: list = dataclasses.field(default_factory=list)
    calls: dict = dataclasses.field(default_factory=dict)  # by correlation id: (start, end, name)
    operators: int = 0
    steps: list = dataclasses.field(default_factory=list)  # numbers of ProfilerStep#
    heads: list = dataclasses.field(default_factory=list)
    passes: int = 0  # aten::addmm: one a linear layer
    repeated: int = 0  # calls with the correlation id of another

    def of(self, kind):
        return [one for one in self.work if one.kind == kind]

    def counts(self):
        """(kernels, copies, sets)."""
        kinds = collections.Counter(one.kind for one in self.work)
        return kinds["kernel"], kinds["copy"], kinds["set"]

    def messages(self):
        return [text for head in self.heads for text in head["missing"] + head["notices"] + head["remarks"]]

    def fact(self, name):
        return next((head["facts"][name] for head in self.heads if name in head["facts"]), "")


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        return json.load(file, strict=False)


def paths(folder):
    """Finished trace files below a folder."""
    return sorted(glob.glob(os.path.join(folder, "**", "*.pt.trace.json.gz"), recursive=True))


def _add(seen, event, zero):
    cat, name, args = event.get("cat"), event["name"], event.get("args", {})
    start = zero + round(event["ts"] * 1000)
    end = zero + round((event["ts"] + event.get("dur", 0)) * 1000)
    if cat in KINDS:
        seen.work.append(Work(KINDS[cat], name, start, end, args))
    elif cat in CALLS and "correlation" in args:
        seen.repeated += args["correlation"] in seen.calls
        seen.calls[args["correlation"]] = (start, end, name)
    elif name.startswith("ProfilerStep#"):
        seen.steps.append(int(name.split("#")[1]))
    elif cat == "cpu_op":
        seen.operators += 1
        seen.passes += name == "aten::addmm"


def read(files):
    """Ours; times are CLOCK_MONOTONIC."""
    seen = GpuTrace()
    for path in files:
        trace = load(path)
        seen.heads.append(trace["gpuprof"])
        zero = trace["gpuprof"]["window"]["start_ns"] - MARGIN_NS
        for event in trace["traceEvents"]:
            if event.get("ph") == "X":
                _add(seen, event, zero)
    return seen


def read_kineto(path):
    """torch.profiler's; on a clock of its own."""
    seen = GpuTrace()
    for event in load(path)["traceEvents"]:
        if event.get("ph") == "X":
            _add(seen, event, 0)
    return seen


def difference(wanted, got, what=Work.key):
    """(missing, extra, first of either as text) of two sources, by name, shape and bytes."""
    one, other = (collections.Counter(map(what, seen.work)) for seen in (wanted, got))
    missing, extra = one - other, other - one
    first = next(iter((missing + extra).items()), None)
    text = "" if first is None else "%d of %s" % (first[1], " ".join(map(str, first[0])))
    return sum(missing.values()), sum(extra.values()), text


def linked(seen):
    """(GPU work whose call is there, all of it, work without one amid other of its stream)."""
    last = {}
    for one in seen.work:
        place = one.args.get("device"), one.args.get("stream")
        last[place] = max(last.get(place, one.start), one.start)
    alone = [one for one in seen.work if one.correlation() not in seen.calls]
    # A thread that stands inside a call when the window ends has its work there and not the call; the trace states it.
    cut = [one for one in alone if one.start == last[one.args.get("device"), one.args.get("stream")]] \
        if any("without the host call" in text for text in seen.messages()) else []
    return len(seen.work) - len(alone), len(seen.work), len(alone) - len(cut)


def before_launch(seen):
    """GPU work that starts before its call does."""
    return [one for one in seen.work if one.correlation() in seen.calls
            and one.start < seen.calls[one.correlation()][0] - ROUNDING_NS]


def before_launch_by(seen, one):
    return seen.calls[one.correlation()][0] - one.start


def overlaps(seen):
    """Pairs of one stream that run at the same time. Nodes of a graph may, and copies that the host makes: they are not
    looked at."""
    streams = collections.defaultdict(list)
    for one in seen.work:
        if not one.args.get("graph node id") and not one.args.get("graph id") and not one.name.startswith("Memcpy HtoH"):
            streams[tuple(one.args.get(word) for word in ("device", "context", "stream"))].append(one)
    found = []
    for rows in streams.values():
        rows.sort(key=lambda one: one.start)
        found += [(a, b) for a, b in zip(rows, rows[1:]) if b.start < a.end - ROUNDING_NS]
    return found


def within(seen, start, end):
    """How much GPU work was launched between two moments."""
    times = sorted(seen.calls[one.correlation()][0] for one in seen.work if one.correlation() in seen.calls)
    return bisect.bisect_left(times, end) - bisect.bisect_left(times, start)
