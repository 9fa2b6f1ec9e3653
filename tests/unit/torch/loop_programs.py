# SPDX-License-Identifier: Apache-2.0
"""Runs programs with loops of every kind; each knows how often its loops go round.

    loop_programs.py LIBRARY     prints "PROGRAM LOOP TRUTH COUNTED IDS strong weak first" for each loop

IDS: as how many loops it was notified of, one of which is right but for recursion.
A loop that is judged has `# loop: NAME` behind its head. An operator is a call of the library.
"""

import ctypes
import dis
import re
import sys

import loop_cases
import loop_cases_more
import loop_generators
import loop_operators
from loop_operators import LIBRARY, PROGRAMS


class Counted(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64)
                for name in ("code", "target", "level", "strong", "weak", "first")]

    def line(self):
        code = ctypes.cast(self.code, ctypes.py_object).value
        return max((start, line or 0) for start, line in dis.findlinestarts(code)
                   if start <= self.target)[1], code.co_filename


def heads():
    """{(file, line): name} of the loops that are judged; a while's head may be its first line."""
    sources = {"long": loop_cases_more.LONG,
               **{name: text for name, (text, _) in loop_cases_more.SCRIPTS.items()}}
    for module in (loop_cases, loop_cases_more, loop_generators, loop_operators):
        with open(module.__file__, encoding="utf-8") as source:
            sources[module.__file__] = source.read()
    found = {}
    for path, text in sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            name = re.search(r"# loop: (\w+)", line)
            if name:
                found[path, number] = name[1]
                if "while" in line:
                    found[path, number + 1] = name[1]
    return found


def main():
    if not LIBRARY.probe_start():
        print("this interpreter cannot be read")
        return 1
    room = (Counted * 1000)()
    known = heads()
    for program in PROGRAMS:
        truth = program()
        sums = {}
        for one in room[:LIBRARY.probe_take(room, 1000)]:
            line, path = one.line()
            sums.setdefault(known.get((path, line)), []).append((one.strong, one.weak, one.first))
        for loop, times in truth.items():
            told = sums.get(loop, [(0, 0, 0)])
            strong, weak, first = (sum(column) for column in zip(*told))
            print(program.__name__, loop, times, first + (strong or weak), len(told), strong, weak,
                  first)
    return 1 if LIBRARY.probe_differences() else 0


if __name__ == "__main__":
    sys.exit(main())
