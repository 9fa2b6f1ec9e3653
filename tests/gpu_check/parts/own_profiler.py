# SPDX-License-Identifier: Apache-2.0
"""A program that profiles itself before, during and after our window: its sessions are complete, and ours goes on."""

import glob
import json
import os
import re

import processes
import traces
from context import ROOT
from part import Part, checked_row, not_asked

SCRIPT = os.path.join(ROOT, "tests", "e2e", "simgpu", "conflict", "own_profiler.py")
# Our window begins when the first session is over and ends in the last training.
PLAN, WINDOW = "profile:1,train:2,profile:1,train:4,profile:1", "6s"
BEFORE, DURING, AFTER = 0, 2, 4  # sessions by their phase
NAME = "gpu-check-own-profiler"
SENTENCE = "the program's own CUPTI profiler"
BACK_NS = 2_500_000_000  # two seconds after its last call we take up again, where it does not flush


def session(folder, number):
    """(kernels, steps) of its own trace; each step has two linear layers, aten::addmm."""
    files = glob.glob(os.path.join(folder, "session.%d.json" % number))
    seen = traces.read_kineto(files[0]) if files else traces.GpuTrace()
    return len(seen.of("kernel")), seen.passes // 2


def phases(folder):
    try:
        with open(os.path.join(folder, "phases.json"), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return []


def its_sessions(folder):
    """Each has the kernels a step that the first one has, which nobody was beside."""
    kernels, steps = session(folder, BEFORE)
    for name, number in (("before", BEFORE), ("during", DURING), ("after", AFTER)):
        has = session(folder, number)
        good = steps > 0 and has[1] > 0 and has[0] * steps == kernels * has[1] > 0
        yield checked_row("its session %s ours" % name, good, "%d kernels in %d steps" % has,
                          "%g kernels a step, as before ours" % (kernels / max(1, steps)))


def of_torch(context):
    folder, out = context.path("own_profiler", ""), context.path("traces", "own_profiler", "files")
    command = [context.gpuprof, "run", "--armed", "--name", NAME, "--", context.python, SCRIPT, folder, PLAN]
    with processes.Program(command) as program:  # it has printed that its first session is over
        done = context.cli("capture", NAME, "-d", WINDOW, "--span-size", "100000000", "-o", out)
        status, _ = program.end(30 * context.patience)
    context.keep(*traces.paths(out))
    yield from its_sessions(folder)
    seen, times = traces.read(traces.paths(out)), phases(folder)
    if status or len(times) != 5:
        yield checked_row("the program", False, "status %s, %d phases" % (status, len(times)), "status 0, 5 phases", done.last_lines())
        return
    before, after = (traces.within(seen, times[i]["begin_ns"], times[i]["end_ns"]) for i in (1, 3))
    late = traces.within(seen, times[3]["begin_ns"] + BACK_NS, times[3]["end_ns"])
    yield checked_row("ours before and after", before > 0 and late > 0, "%d before, %d after (%d of them 2.5 s after its end)" % (
        before, after, late), "GPU work in both", done.last_lines())
    yield messages(seen, done)
    yield checked_row("ours, in order", not traces.before_launch(seen) and not traces.overlaps(seen),
                      "%d before their launch, %d overlaps" % (len(traces.before_launch(seen)), len(traces.overlaps(seen))), "0, 0")


def messages(seen, done):
    sentences = [text for text in seen.messages() if SENTENCE in text]
    return checked_row("said", bool(sentences), sentences[0][:160] if sentences else "nothing", "a sentence with its length",
                       done.last_lines())


def of_trainer(context):
    """The C++ program of the simulated GPU with a CUPTI session of its own in steps 20 to 40 of 120."""
    command = context.on_gpu([os.path.join(context.simulator, "sim_trainer"), "--steps", "120", "--step-ms", "5", "--profile-from",
                              "20", "--profile-until", "40"])
    recording = context.record("own_profiler", command, "--step", "nvtx:step", "--span-size", "100000000")
    out = recording.done.out
    own = int((re.findall(r"^result own_profiler_kernels (\d+)", out, re.MULTILINE) or [0])[0])
    a_step = int((re.findall(r"^result kernels_per_step (\d+)", out, re.MULTILINE) or [0])[0])
    yield checked_row("its session during ours", own == 20 * a_step > 0, "%d kernels in 20 steps" % own, "%d" % (20 * a_step),
                      recording.done.last_lines())
    seen = recording.trace()
    kernel_count, rest = len(seen.of("kernel")), 100 * a_step
    yield checked_row("ours before and after", 0 < kernel_count <= rest, "%d kernels of the other 100 steps" % kernel_count, "up to %d" % rest,
                      recording.done.last_lines())
    yield messages(seen, recording.done)


def run(context):
    lacks = context.lacks("torch")
    if context.simulated:
        yield from of_trainer(context)
    elif lacks:
        yield not_asked("its sessions", lacks)
    else:
        yield from of_torch(context)


PART = Part("own_profiler", "a program with profiler sessions of its own before, during and after ours", 60, (), run)
