# SPDX-License-Identifier: Apache-2.0
"""The one model all logs of a run are read into: operations, calls, threads, links.

All times are integer nanoseconds of the log's own clock until compare.py fits it to the reference log's."""

import collections
import ctypes
import dataclasses
import re

KINDS = ("kernel", "memcpy", "memset", "sync")

COPIES = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD",
          9: "HtoH", 10: "PtoP"}
MEMORIES = {0: "Unknown", 1: "Pageable", 2: "Pinned", 3: "Device", 4: "Array", 5: "Managed",
            6: "Device Static", 7: "Managed Static"}
SYNCS = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
NOWHERE = 0xffffffff  # stream of a wait that is not for a stream


@dataclasses.dataclass
class Op:
    """One thing that happened on a device, or one wait. A field that a log does not state is
    None and is not compared."""
    kind: str
    start: int
    dur: int
    corr: int
    name: str = None
    device: int = None
    context: int = None
    stream: int = None
    grid: tuple = None
    block: tuple = None
    bytes: int = None
    graph: int = None
    node: int = None
    position: int = 0  # position in the log's file

    def short(self):
        return "%s %s corr=%s stream=%s/%s start=%d dur=%d" % (
            self.kind, (self.name or "")[:60], self.corr, self.device, self.stream, self.start,
            self.dur)


@dataclasses.dataclass
class Call:
    """One API call of the program, as launch of operations."""
    name: str
    tid: int
    start: int
    end: int


@dataclasses.dataclass
class EventLog:
    """What one source states about one process."""
    name: str
    ops: list = dataclasses.field(default_factory=list)
    calls: dict = dataclasses.field(default_factory=dict)  # correlation id -> Call
    duplicate_calls: list = dataclasses.field(default_factory=list)
    flow_starts: dict = dataclasses.field(default_factory=dict)  # id -> tid of the launch's side
    flow_ends: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    external: dict = dataclasses.field(default_factory=dict)  # correlation id -> External id
    operators: set = dataclasses.field(default_factory=set)  # External ids of host ranges
    header: dict = dataclasses.field(default_factory=dict)

    def count(self, kind):
        return sum(op.kind == kind for op in self.ops)

    def add_call(self, corr, call):
        if corr in self.calls:
            self.duplicate_calls.append(corr)
        else:
            self.calls[corr] = call


def base_api_name(name):
    """API names differ between sources only in the version the linker sees."""
    return re.sub(r"(_v\d+)?(_pt(sz|ds))?$", "", name)


_runtime = None
_known = {}


def demangle(name):
    """As every C++ tool of this machine does; a name that is not mangled stays."""
    global _runtime
    if not name.startswith("_Z"):
        return name
    if name not in _known:
        if _runtime is None:
            _runtime = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
            _runtime.restype = ctypes.c_void_p
            _libc = ctypes.CDLL(None)
            _runtime.release = _libc.free
            _runtime.release.argtypes = [ctypes.c_void_p]
        status = ctypes.c_int()
        text = _runtime(name.encode(), None, None, ctypes.byref(status))
        if text:
            _known[name] = ctypes.string_at(text).decode()
            _runtime.release(text)
        else:
            _known[name] = name
    return _known[name]
