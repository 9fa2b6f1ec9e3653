# SPDX-License-Identifier: Apache-2.0
"""Reads the simulator's own log (tests/simgpu/README.md, "Logs")."""

import json

from model import COPIES, MEMORIES, NOWHERE, SYNCS, Call, Op, Witness, demangle, plain_api


def _operation(row, place):
    op = Op(row["kind"], row["start"], row["end"] - row["start"], row["corr"],
            device=row["device"], context=row["context"], stream=row["stream"],
            graph=row["graph"], node=row["graph_node"], place=place)
    if op.kind == "kernel":
        op.name = demangle(row["name"])
        op.grid, op.block = tuple(row["grid"]), tuple(row["block"])
    elif op.kind in ("memcpy", "memcpy_peer"):
        op.kind = "memcpy"
        op.bytes = row["bytes"]
        op.name = "Memcpy %s (%s -> %s)" % (COPIES[row["copy_kind"]], MEMORIES[row["src_kind"]],
                                            MEMORIES[row["dst_kind"]])
    elif op.kind == "memset":
        op.bytes = row["bytes"]
    return op


def _wait(row, place):
    stream = -1 if row["stream"] == NOWHERE else row["stream"]
    return Op("sync", row["start"], row["end"] - row["start"], row["corr"],
              name=SYNCS[row["kind"]], context=row["context"], stream=stream, place=place)


def rows(path):
    """Every finished line; a killed process leaves NUL bytes after the last one."""
    with open(path, "rb") as file:
        for line in file:
            line = line.strip(b"\0\n")
            if line:
                yield json.loads(line)


def read(path):
    """The log of one process as a Witness."""
    truth = Witness("truth")
    for place, row in enumerate(rows(path)):
        kind = row["t"]
        if kind == "header":
            truth.header = row
        elif kind == "api":
            truth.add_call(row["corr"],
                           Call(plain_api(row["name"]), row["tid"], row["start"], row["end"]))
        elif kind == "op" and row["kind"] != "host_function":
            truth.ops.append(_operation(row, place))
        elif kind == "sync":
            truth.ops.append(_wait(row, place))
    return truth


def within(truth, begin, end):
    """The part of the truth that was asked for by calls that began in [begin, end]."""
    part = Witness(truth.name, header=truth.header)
    part.calls = {corr: call for corr, call in truth.calls.items() if begin <= call.start <= end}
    part.ops = [op for op in truth.ops if op.corr in part.calls]
    return part
