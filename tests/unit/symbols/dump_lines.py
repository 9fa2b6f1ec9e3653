# SPDX-License-Identifier: Apache-2.0
"""Prints line tables and what the interpreter itself says for every instruction offset.

One code object a line: minor first_line table-in-hex line line line ... (one for each two bytes
of byte code; 0 for none). Truth is PyCode_Addr2Line, checked against co_lines() where it exists.
"""
import ctypes
import importlib
import sys

MODULES = ["dataclasses", "asyncio.base_events", "_pydecimal", "tarfile", "json.decoder"]
ADDR2LINE = ctypes.pythonapi.PyCode_Addr2Line
ADDR2LINE.argtypes = [ctypes.py_object, ctypes.c_int]
LONG = "def long(n):\n" + "".join(
    "    x = [n,\n         n + %d,\n\n         n * 2 if n else (yield n)]\n" % i for i in range(150))
BACKWARDS = "def f(n):\n  for i in (\n    n,\n\n    n + 1):\n    try:\n      g(i,\n" + "\n" * 300 + \
            "        n)\n    finally:\n      del i\n"


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def by_co_lines(code):
    lines = {}
    for start, end, line in code.co_lines():
        for offset in range(start, end):
            lines[offset] = line or 0
    return lines


def main():
    roots = [compile(LONG, "<long>", "exec"), compile(BACKWARDS, "<backwards>", "exec")]
    for name in MODULES:
        path = importlib.import_module(name).__file__
        with open(path, encoding="utf-8") as file:
            roots.append(compile(file.read(), path, "exec"))
    for root in roots:
        for code in codes(root):
            table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
            size = len(code.co_code)
            lines = [max(ADDR2LINE(code, at), 0) for at in range(0, size, 2)]
            if hasattr(code, "co_lines"):
                public = by_co_lines(code)
                assert lines == [public.get(at, 0) for at in range(0, size, 2)], code
            print(sys.version_info[1], code.co_firstlineno, table.hex() or "-", *lines)


main()
