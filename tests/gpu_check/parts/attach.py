# SPDX-License-Identifier: Apache-2.0
"""A program that runs already, recorded again and again: brought in by `attach`, or armed and asked by `capture`."""

import collections
import os
import re
import time

import processes
import traces
from part import Part, checked_row, info_row
from parts.machine import text_of

SECONDS = 0.3
EXPECTED = "kernels in each, linked 100 %, the program unharmed"
PATIENCE = 3  # on the simulated GPU, whose machine may be busy, a window that lacks something is taken again, longer


def one_window(context, command, pid, number):
    """(Seen, files, what is wrong) of one window."""
    for turn in range(PATIENCE if context.simulated else 1):
        out = context.path("traces", command, "%d-%d" % (number, turn), "files")
        done = context.cli(command, pid, "-d", "%gs" % (SECONDS * 4 ** turn), "-o", out, limit_s=20)
        seen = traces.read(traces.paths(out))
        wrong = problems_of_window(number, seen, done)
        if not wrong:
            break
    return seen, traces.paths(out), wrong


def problems_of_window(number, seen, done):
    """What is wrong with one window; "" if nothing is."""
    amid = traces.linked(seen)[2]
    if done.status or not seen.of("kernel"):
        return "window %d: status %s, %d kernels: %s" % (number, done.status, len(seen.of("kernel")), done.last_lines())
    if not seen.calls:
        return "window %d: no API record" % number
    return "window %d: %d without a call" % (number, amid) if amid else ""


def windows(context, command, program):
    bad, linked, work, early, kernels, longest = [], 0, 0, [], 0, 0.0
    for number in range(1, context.times + 1):
        began = time.monotonic()
        seen, files, wrong = one_window(context, command, program.pid, number)
        longest = max(longest, time.monotonic() - began)
        there, whole, _ = traces.linked(seen)
        linked, work = linked + there, work + whole
        before = traces.before_launch(seen)
        early += [(number, traces.before_launch_by(seen, one), one.name) for one in before]
        kernels += len(seen.of("kernel"))
        if wrong:
            bad.append(wrong)
        if wrong or before or number == 1:
            context.keep(*files)
        if not program.alive():
            bad.append("the program ended in window %d" % number)
            break
    if early:
        number, by_ns, name = max(early, key=lambda one: one[1])
        bad.append("%d before their launch, in windows %s, by %d ns at most (%s in window %d)" % (
            len(early), sorted({one[0] for one in early}), by_ns, name[:60], number))
    text = "%d windows of %g s, %d kernels, linked %d of %d (%.2f %%), longest command %.1f s" % (
        number, SECONDS, kernels, linked, work, 100 * linked / max(1, work), longest)
    yield checked_row("%d times %s" % (context.times, command), not bad, text, EXPECTED, "; ".join(bad[:4]), linked=linked,
                      work=work, kernels=kernels)


def target_of(path):
    try:
        return re.sub(r"\d+", "N", os.readlink(path))
    except OSError:
        return "gone"


def state(pid):
    """(names of threads, what descriptors are open to) of a process, counted."""
    tasks, descriptors = ("/proc/%d/%s" % (pid, of) for of in ("task", "fd"))
    return (collections.Counter(text_of(os.path.join(tasks, tid, "comm")) for tid in os.listdir(tasks)),
            collections.Counter(target_of(os.path.join(descriptors, fd)) for fd in os.listdir(descriptors)))


def check_leftovers(before, after):
    """"34, then 36 (2 cuda-EvtHandlr)"."""
    words = ["%d %s" % (count, name) for name, count in sorted((after - before).items())]
    return "%d, then %d%s" % (sum(before.values()), sum(after.values()), " (%s)" % ", ".join(words) if words else "")


def run_attach(context):
    with processes.Program(context.training()) as program:
        settle(context)
        before = state(program.pid) if program.alive() else (collections.Counter(), collections.Counter())
        yield from windows(context, "attach", program)
        if program.alive():
            threads, descriptors = map(check_leftovers, before, state(program.pid))
            yield info_row("what is left", "threads %s; descriptors %s" % (threads, descriptors))
        yield check_end(context, program)


def run_capture(context):
    command = [context.gpuprof, "run", "--armed", "--", *context.training()]
    with processes.Program(command) as program:
        settle(context)
        yield from windows(context, "capture", program)
        yield mapped(program)
        yield check_end(context, program)


def mapped(program):
    """Preloaded and named to the driver as well, the library is there once."""
    with open("/proc/%d/maps" % program.pid, encoding="utf-8") as file:
        copies = {line.split()[4] for line in file if line.rstrip().endswith("libgpuprof_inject.so")}
    return checked_row("copies of the library", len(copies) == 1, "%d mapped" % len(copies), "1")


def settle(context):
    """The program is at work, not at its first call."""
    time.sleep(1.0 if not context.simulated else 0.5)


def check_end(context, program):
    status, _ = program.end(20 * context.patience)
    # The trainer of the simulated GPU has no end of its own.
    wanted = {0} if not context.simulated else {0, -15, 143}
    return checked_row("the program's end", status in wanted, "exit status %s" % status, "its own, after SIGTERM")


ATTACH = Part("attach", "gpuprof attach to a training, again and again", 60, ("attach",), run_attach)
CAPTURE = Part("capture", "gpuprof capture of an armed training, again and again", 45, (), run_capture)
