# SPDX-License-Identifier: Apache-2.0
"""Reads a Chrome trace, gpuprof's or that of PyTorch's profiler: the categories are the same but for the
launches, the clocks are not (docs/trace-format.md)."""

import gzip
import json

from model import Call, Op, EventLog, base_api_name

_LAUNCHES = ("runtime", "cuda_runtime", "cuda_driver")
_HOST = ("cpu_op", "user_annotation", "python")
_KIND = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset", "cuda_sync": "sync"}
_MARGIN_NS = 1_000_000  # of gpuprof: time 0 is this long before the window


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def _ns(us):
    return round(us * 1000)


def _op(event, zero, position):
    args = event["args"]
    kind = _KIND[event["cat"]]
    device = args.get("device", args.get("inDevice"))
    op = Op(kind, zero + _ns(event["ts"]), _ns(event["dur"]), args.get("correlation"),
            name=event["name"], device=device, context=args.get("context"),
            stream=args.get("stream"), bytes=args.get("bytes"), graph=args.get("graph id"),
            node=args.get("graph node id"), position=position)
    if "grid" in args:
        op.grid, op.block = tuple(args["grid"]), tuple(args["block"])
    return op


def _add(log, event, zero, position):
    cat, phase = event.get("cat"), event.get("ph")
    if phase == "X" and cat in _KIND:
        log.ops.append(_op(event, zero, position))
    elif phase == "X" and cat in _LAUNCHES:
        args = event["args"]
        if "correlation" in args:
            start = zero + _ns(event["ts"])
            call = Call(base_api_name(event["name"]), event["tid"], start, start + _ns(event["dur"]))
            log.add_call(args["correlation"], call)
            log.external[args["correlation"]] = args.get("External id")
    elif phase == "X" and cat in _HOST:
        log.operators.add(event.get("args", {}).get("External id"))
    elif cat == "ac2g" and phase == "s":
        log.flow_starts[event["id"]] = event["tid"]
    elif cat == "ac2g" and phase == "f":
        log.flow_ends[event["id"]] += 1


def read_kineto(path):
    """PyTorch's profiler; its clock is fitted later."""
    trace = load(path)
    log = EventLog("kineto", header=trace)
    zero = int(trace.get("baseTimeNanoseconds", 0))
    for position, event in enumerate(trace["traceEvents"]):
        _add(log, event, zero, position)
    return log


def read_gpuprof(paths):
    """All spans of one process; each states where its time 0 lies on CLOCK_MONOTONIC."""
    log = EventLog("ours")
    position = 0
    for path in sorted(paths):
        trace = load(path)
        log.header = trace["gpuprof"]
        zero = trace["gpuprof"]["window"]["start_ns"] - _MARGIN_NS
        for event in trace["traceEvents"]:
            _add(log, event, zero, position)
            position += 1
    return log
