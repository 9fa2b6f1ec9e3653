# SPDX-License-Identifier: Apache-2.0
"""Lengths of steps against the program's own clock at the head of its loop: iterations of half a
millisecond, and a few that are long, wherever in the iteration the time passes. Prints a table.

Judged is what load cannot change: no step is missing, steps are without gaps, each long iteration is
longer than those beside it. With --exact also how long they are, by the clock: all of them but those in
which the kernel took the processor away, or held the thread between two lines behind each other where the program
does nothing, where nothing tells on which side of the boundary it did.

With --viewers the step tables of the real TensorBoard plugin, HTA and xprof must hold the same lengths (HTA leaves
out the last, xprof the first and the last); a large file takes them minutes.

usage: stalls_test.py [--only FORM,…] [--steps N] [--stall MS] [--exact] [--viewers] [--python PATH] [--keep FOLDER]
                      [--option WORD …]"""

import argparse
import dataclasses
import os
import subprocess
import sys

import e2e
import judge
import steps_test
import torch_trace
from torch_python import python_with_torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "viewers"))
import viewers  # noqa: E402

FORMS = ["first", "loader", "middle", "after", "lock", "evaluate", "checkpoint", "epochs"]
NEAR_NS, NEAR_SHARE = 200_000, 0.02
HELD_NS = 100_000


def held_iterations(noted):
    """Numbers of the iterations on both sides of a boundary at which the thread stood still though the program does nothing
    there, by its own clock."""
    numbers, stalled = set(), set(noted["stalled"])
    for i, (back, front) in enumerate(zip(noted["backs"], noted["fronts"][1:])):
        if front - back > HELD_NS and not {i, i + 1} & stalled:
            numbers |= {i, i + 1}
    return numbers


@dataclasses.dataclass
class Truth:
    begins: list
    ends: list
    stalled: list
    outside: list  # [begin, end] between two loops
    disturbed: set  # numbers of those in or behind which the thread was made to wait for a processor, or that were held

    @classmethod
    def read(cls, folder):
        noted = judge.load(os.path.join(folder, "truth.json"))
        heads, outside = noted["heads"], noted["outside"]
        begins = heads if outside else heads[:-1]
        ends = [min([e for e, _ in outside if e > begin] + heads[i + 1:i + 2])
                for i, begin in enumerate(begins)]
        switched = noted["switched"]
        # Each is noted right behind the clock.
        disturbed = [i for i in range(len(begins)) if switched[min(i + 2, len(switched) - 1)] > switched[max(i - 1, 0)]]
        return cls(begins, ends, noted["stalled"], outside, set(disturbed) | held_iterations(noted))

    def lengths(self):
        return [end - begin for begin, end in zip(self.begins, self.ends)]


def near(length, clock):
    return abs(length - clock) <= max(NEAR_NS, NEAR_SHARE * clock)


def gaps(truth, steps):
    """Sentences on time between two steps where the loop was not left."""
    wrong = []
    for i in range(len(steps) - 1):
        left = any(truth.begins[i] < begin <= truth.begins[i + 1] for begin, _ in truth.outside)
        gap = steps[i + 1].start - steps[i].end
        if left and gap < 0.5 * min(end - begin for begin, end in truth.outside):
            wrong.append("only %.3f ms between two loops, after step %d" % (gap / 1e6, i + 1))
        if not left and abs(gap) > 1:  # clock: the order
            wrong.append("%.3f ms between step %d and the next one" % (gap / 1e6, i + 1))
    return wrong


def order(truth, lengths):
    """Sentences on long iterations that are not longer than those beside them, though by the program's clock they are
    by far: a thread that is to stand in the way may come too late."""
    wrong, clock = [], truth.lengths()
    for i in truth.stalled:
        for j in (i - 1, i + 1):
            if not 0 <= j < len(lengths) or j in truth.stalled or clock[i] < 4 * clock[j]:
                continue
            if lengths[j] >= lengths[i]:
                wrong.append("step %d, where the program stood still, lasts %.3f ms; step %d lasts %.3f ms"
                             % (i + 1, lengths[i] / 1e6, j + 1, lengths[j] / 1e6))
    return wrong


def exactly(truth, lengths):
    """Sentences on iterations that do not hold what they took. The first begins with its first operator, and the last one
    ends with what was seen of it last (docs/steps.md)."""
    clock = truth.lengths()
    wrong = [i for i in range(1, len(clock) - 1) if not near(lengths[i], clock[i])]
    differences = ["step %d lasts %.3f ms instead of %.3f ms" % (i + 1, lengths[i] / 1e6, clock[i] / 1e6)
                   for i in wrong if i not in truth.disturbed or (i in truth.stalled and lengths[i] < 0.9 * clock[i])]
    return differences + (["the machine is too busy to judge by its clock: %d of %d steps were kept from running" % (
        len(truth.disturbed), len(clock))] if len(truth.disturbed) > 0.9 * len(clock) else [])


def row(form, truth, lengths):
    clock = truth.lengths()
    off = [abs(a - b) for a, b in zip(lengths, clock)]
    bad = [i for i in range(len(clock)) if not near(lengths[i], clock[i])]
    disturbed = sum(i in truth.disturbed for i in bad)
    long = "  ".join("%.2f/%.2f" % (lengths[i] / 1e6, clock[i] / 1e6) for i in truth.stalled[:4])
    return "%-11s %5d steps, %5d within 0.2 ms or 2 %%, of the others %3d were kept from running (of all %.1f %%); " \
           "worst %7.3f ms; sum %10.3f of %10.3f ms; long: %s" % (
               form, len(lengths), len(clock) - len(bad), disturbed, 100 * len(truth.disturbed) / len(clock),
               max(off) / 1e6, sum(lengths) / 1e6, sum(clock) / 1e6, long)


def check_viewers(folder, lengths):
    """(what is wrong, a row of the table) of what the real viewers make of the steps."""
    wrong, cells = [], []
    out, profile = os.path.join(folder, "out"), os.path.join(folder, "xplane")
    subprocess.run([e2e.GPUPROF, "export", out, "--format", "xplane", "-o", profile], check=True, capture_output=True,
                   timeout=600)
    for viewer in ("plugin", "hta", "xprof"):
        got = viewers.step_lengths(viewer, profile if viewer == "xprof" else out)
        if got is None:
            cells.append("%s: not installed" % viewer)
            continue
        kept = {"plugin": lengths, "hta": lengths[:-1], "xprof": lengths[1:-1]}[viewer]
        expected = [ns / 1e3 for ns in kept]
        off = max((abs(a - b) for a, b in zip(got, expected)), default=0)
        cells.append("%s: %d steps, %.3f ms, off by %.1f us at most" % (viewer, len(got), sum(got) / 1e3, off))
        if len(got) != len(expected) or off > 2.1:  # HTA cuts begin and end to whole microseconds
            wrong.append("%s shows %d steps instead of %d, off by up to %.1f us" % (viewer, len(got), len(expected), off))
    return wrong, "%-11s %s" % ("", "; ".join(cells))


def examine(form, python, folder, wanted):
    """(what is wrong, the table's row)."""
    command = "stalls.py %s --steps %d --stall %d" % (form, wanted.steps, wanted.stall)
    done, _, paths = steps_test.run(python, command, folder, steps_test.WHOLE + wanted.option)
    if done.returncode != 0 or len(paths) != 1:
        return ["status %d, %d files: %s" % (done.returncode, len(paths),
                                             done.stderr.decode()[-800:])], ""
    truth = Truth.read(folder)
    steps = torch_trace.read_gpuprof(paths).steps
    if len(steps) != len(truth.begins):
        return ["%d steps instead of %d" % (len(steps), len(truth.begins))], ""
    lengths = [step.end - step.start for step in steps]
    wrong = gaps(truth, steps) + order(truth, lengths)
    if wanted.exact:
        wrong += exactly(truth, lengths)
    line = row(form, truth, lengths)
    if wanted.viewers:
        more, cells = check_viewers(folder, lengths)
        wrong, line = more + wrong, line + "\n" + cells
    return wrong[:6], line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(FORMS))
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--stall", type=int, default=60)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--viewers", action="store_true")
    parser.add_argument("--python")
    parser.add_argument("--keep")
    parser.add_argument("--option", action="append", default=[], help="of gpuprof run")
    wanted = parser.parse_args()
    python = python_with_torch(wanted.python)
    checks = e2e.Checks()
    with e2e.Folder("stalls") as temporary:
        for form in wanted.only.split(","):
            folder = os.path.join(wanted.keep or temporary, form)
            os.makedirs(folder, exist_ok=True)
            wrong, line = examine(form, python, folder, wanted)
            print(line, flush=True)
            checks.expect(not wrong, "%s: %s" % (form, "; ".join(wrong)))
        if checks.failed and not wanted.keep:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
