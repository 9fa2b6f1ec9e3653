# SPDX-License-Identifier: Apache-2.0
"""Reads a Chrome trace, ours or that of PyTorch's profiler: the categories are the same but for the
launches, the clocks are not (docs/trace-format.md)."""

import gzip
import json

from model import Call, Op, Witness, plain_api

_LAUNCHES = ("runtime", "cuda_runtime", "cuda_driver")
_HOST = ("cpu_op", "user_annotation", "python")
_KIND = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset", "cuda_sync": "sync"}
_MARGIN_NS = 1_000_000  # ours: time 0 is this long before the window


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def _ns(us):
    return round(us * 1000)


def _op(event, zero, place):
    args = event["args"]
    kind = _KIND[event["cat"]]
    device = args.get("device", args.get("inDevice"))
    op = Op(kind, zero + _ns(event["ts"]), _ns(event["dur"]), args.get("correlation"),
            name=event["name"], device=device, context=args.get("context"),
            stream=args.get("stream"), bytes=args.get("bytes"), graph=args.get("graph id"),
            node=args.get("graph node id"), place=place)
    if "grid" in args:
        op.grid, op.block = tuple(args["grid"]), tuple(args["block"])
    return op


def _add(witness, event, zero, place):
    cat, phase = event.get("cat"), event.get("ph")
    if phase == "X" and cat in _KIND:
        witness.ops.append(_op(event, zero, place))
    elif phase == "X" and cat in _LAUNCHES:
        args = event["args"]
        if "correlation" in args:
            start = zero + _ns(event["ts"])
            call = Call(plain_api(event["name"]), event["tid"], start, start + _ns(event["dur"]))
            witness.add_call(args["correlation"], call)
            witness.external[args["correlation"]] = args.get("External id")
    elif phase == "X" and cat in _HOST:
        witness.operators.add(event.get("args", {}).get("External id"))
    elif cat == "ac2g" and phase == "s":
        witness.flow_starts[event["id"]] = event["tid"]
    elif cat == "ac2g" and phase == "f":
        witness.flow_ends[event["id"]] += 1


def kineto(path):
    """PyTorch's profiler; its clock is fitted later."""
    trace = load(path)
    witness = Witness("kineto", header=trace)
    zero = int(trace.get("baseTimeNanoseconds", 0))
    for place, event in enumerate(trace["traceEvents"]):
        _add(witness, event, zero, place)
    return witness


def ours(paths):
    """All spans of one process; each states where its time 0 lies on CLOCK_MONOTONIC."""
    witness = Witness("ours")
    place = 0
    for path in sorted(paths):
        trace = load(path)
        witness.header = trace["gpuprof"]
        zero = trace["gpuprof"]["window"]["start_ns"] - _MARGIN_NS
        for event in trace["traceEvents"]:
            _add(witness, event, zero, place)
            place += 1
    return witness
