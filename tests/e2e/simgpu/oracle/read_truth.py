# SPDX-License-Identifier: Apache-2.0
"""Reads the simulator's own log (tests/simgpu/README.md, "Logs")."""

import json

from model import COPIES, MEMORIES, NOWHERE, SYNCS, Call, Op, EventLog, demangle, base_api_name


def _operation(row, position):
    op = Op(row["kind"], row["start"], row["end"] - row["start"], row["corr"],
            device=row["device"], context=row["context"], stream=row["stream"],
            graph=row["graph"], node=row["graph_node"], position=position)
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


def _wait(row, position):
    stream = -1 if row["stream"] == NOWHERE else row["stream"]
    return Op("sync", row["start"], row["end"] - row["start"], row["corr"],
              name=SYNCS[row["kind"]], context=row["context"], stream=stream, position=position)


def rows(path):
    """Every finished line; a killed process leaves NUL bytes after the last one."""
    with open(path, "rb") as file:
        for line in file:
            line = line.strip(b"\0\n")
            if line:
                yield json.loads(line)


def read(path):
    """The log of one process as a Witness."""
    log = EventLog("truth")
    for position, row in enumerate(rows(path)):
        kind = row["t"]
        if kind == "header":
            log.header = row
        elif kind == "api":
            log.add_call(row["corr"],
                         Call(base_api_name(row["name"]), row["tid"], row["start"], row["end"]))
        elif kind == "op" and row["kind"] != "host_function":
            log.ops.append(_operation(row, position))
        elif kind == "sync":
            log.ops.append(_wait(row, position))
    return log


def within(log, begin, end):
    """The part of the reference log that was requested by calls that began in [begin, end]."""
    part = EventLog(log.name, header=log.header)
    part.calls = {corr: call for corr, call in log.calls.items() if begin <= call.start <= end}
    part.ops = [op for op in log.ops if op.corr in part.calls]
    return part
