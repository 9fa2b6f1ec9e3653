# SPDX-License-Identifier: Apache-2.0
"""Reads what a trace states about PyTorch: operators, steps, memory, modules. gpuprof's or torch.profiler's; all
times become nanoseconds on CLOCK_MONOTONIC."""

import dataclasses
import json
import re

import e2e

MARGIN_NS = 1_000_000  # of gpuprof: time 0 is this long before the window (docs/trace-format.md)
STEP = re.compile(r"ProfilerStep#(\d+)$")
# A name of torch.profiler's with a quote in it.
PYTHON_NAME = re.compile(r'^(    "ph": "X", "cat": "python_function", "name": )".*[^\\]".*"(, "pid": )', re.M)
ANNOTATIONS = ("cpu_op", "user_annotation")


@dataclasses.dataclass
class Operator:
    """An operator, autograd node or range of the program's own."""
    name: str
    start: int
    end: int
    tid: int
    args: dict
    cat: str

    def key(self, fields):
        """What two profilers of one run must agree on."""
        return (self.name, self.tid) + tuple(plain(self.args.get(field)) for field in fields)


@dataclasses.dataclass
class Step:
    start: int
    end: int
    label: int
    tid: int
    args: dict


@dataclasses.dataclass
class Trace:
    """One or several files of one process."""
    operators: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)
    memory: list = dataclasses.field(default_factory=list)   # (time, args)
    modules: list = dataclasses.field(default_factory=list)  # Operators of python_function
    kernels: list = dataclasses.field(default_factory=list)  # (name, args)
    crossing: list = dataclasses.field(default_factory=list)  # (name, tid, time it began)
    heads: list = dataclasses.field(default_factory=list)
    exact: bool = True  # times are nanoseconds

    def sort(self):
        for rows in (self.operators, self.steps, self.modules):
            rows.sort(key=lambda row: (row.start, -row.end))
        self.memory.sort(key=lambda row: (row[0], row[1].get("Ev Idx", 0)))
        return self


def plain(value):
    """Lists become tuples, so that a value can be counted."""
    return tuple(plain(v) for v in value) if isinstance(value, list) else value


def _ns(zero, us):
    return zero + round(us * 1000)


def _add(trace, event, zero):
    cat, phase = event.get("cat"), event.get("ph")
    if phase == "i" and event.get("name") == "[memory]":
        trace.memory.append((_ns(zero, event["ts"]), event["args"]))
    if phase == "b" and cat == "torch_crossing":
        trace.crossing.append((event["name"], event["tid"], _ns(zero, event["ts"])))
    if phase != "X":
        return
    if cat == "kernel":
        trace.kernels.append((event["name"], event["args"]))
        return
    if cat not in ANNOTATIONS and cat != "python_function":
        return
    start, args = _ns(zero, event["ts"]), event.get("args", {})
    end = _ns(zero, event["ts"] + event["dur"])
    step = STEP.match(event["name"])
    if step:
        trace.steps.append(Step(start, end, int(step.group(1)), event["tid"], args))
    else:
        rows = trace.modules if cat == "python_function" else trace.operators
        rows.append(Operator(event["name"], start, end, event["tid"], args, cat))


def read_gpuprof(paths):
    """All spans of one process, as gpuprof wrote them."""
    trace = Trace()
    for path in paths:
        loaded = e2e.load(path)
        trace.heads.append(loaded["gpuprof"])
        zero = loaded["gpuprof"]["window"]["start_ns"] - MARGIN_NS
        for event in loaded["traceEvents"]:
            _add(trace, event, zero)
    return trace.sort()


def steps_of(loaded):
    """Steps of one file that was loaded, in order."""
    trace = Trace()
    for event in loaded["traceEvents"]:
        if STEP.match(str(event.get("name"))):
            _add(trace, event, 0)
    return trace.sort().steps


def read_kineto(path, real_minus_mono):
    """What torch.profiler wrote; its times are those of CLOCK_REALTIME."""
    trace = Trace()
    # It may name code that is gone: then the name is whatever lies there, quotes and all.
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        loaded = json.loads(text, strict=False)
    except json.JSONDecodeError:
        loaded = json.loads(PYTHON_NAME.sub(r'\1"gone"\2', text), strict=False)
    trace.exact = "baseTimeNanoseconds" in loaded
    zero = int(loaded.get("baseTimeNanoseconds", 0)) - real_minus_mono
    for event in loaded["traceEvents"]:
        _add(trace, event, zero)
    return trace.sort()
