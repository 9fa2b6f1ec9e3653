# SPDX-License-Identifier: Apache-2.0
"""A program that profiles itself while we record it: its session is complete, and ours goes on before and after it."""

import glob
import json
import os
import re

import traces
from context import ROOT
from part import Part, judged

SCRIPT = os.path.join(ROOT, "tests", "e2e", "simgpu", "conflict", "own_profiler.py")
PLAN = "train:1,profile:1,train:3"
SENTENCE = "The program started its own CUPTI profiler"
ITS_OWN = "kernels a step as without gpuprof, a whole number"
BACK_NS = 2_500_000_000  # two seconds after its last call we take up again, where it does not flush


def session(folder):
    """(kernels, steps) of its own trace; each step has two linear layers, aten::addmm."""
    files = glob.glob(os.path.join(folder, "session.*.json"))
    seen = traces.read_kineto(files[0]) if files else traces.Seen()
    return len(seen.of("kernel")), seen.passes // 2


def phases(folder):
    try:
        with open(os.path.join(folder, "phases.json"), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return []


def of_torch(context):
    plain, ours = context.path("own_profiler", "plain", ""), context.path("own_profiler", "ours", "")
    _, recording = context.each(lambda ask: ask(), (
        lambda: context.run([context.python, SCRIPT, plain, PLAN], 40),
        lambda: context.record("own_profiler", [context.python, SCRIPT, ours, PLAN], "--span-size", "100000000", keep=True)))
    alone, with_us, times = session(plain), session(ours), phases(ours)
    good = with_us[1] > 0 and alone[1] > 0 and with_us[0] * alone[1] == alone[0] * with_us[1]
    yield judged("its session", good and recording.done.status == 0, "%d kernels in %d steps; without gpuprof %d in %d" % (
        *with_us, *alone), ITS_OWN, recording.done.words())
    if len(times) != 3:
        yield judged("ours before and after", False, "the program told no times", "kernels in both", recording.done.words())
        return
    seen = recording.seen()
    before, after = (traces.within(seen, times[i]["begin_ns"], times[i]["end_ns"]) for i in (0, 2))
    late = traces.within(seen, times[2]["begin_ns"] + BACK_NS, times[2]["end_ns"])
    yield judged("ours before and after", before > 0 and late > 0, "%d before, %d after (%d of them 2.5 s after its end)" % (
        before, after, late), "kernels in both")
    yield said(recording)
    yield judged("ours, in order", not traces.before_launch(seen) and not traces.overlaps(seen),
                 "%d before their launch, %d overlaps" % (len(traces.before_launch(seen)), len(traces.overlaps(seen))), "0, 0")


def said(recording):
    sentences = [text for text in recording.seen().told() if SENTENCE in text]
    return judged("said", bool(sentences), sentences[0][:160] if sentences else "nothing", "a sentence with its length",
                  recording.done.words())


def of_trainer(context):
    """The C++ program of the simulated GPU with a CUPTI session of its own in steps 20 to 40 of 120."""
    command = context.on_gpu([os.path.join(context.simulator, "sim_trainer"), "--steps", "120", "--step-ms", "5", "--profile-from",
                              "20", "--profile-until", "40"])
    recording = context.record("own_profiler", command, "--step", "nvtx:step", "--span-size", "100000000")
    out = recording.done.out
    own = int((re.findall(r"^result own_profiler_kernels (\d+)", out, re.MULTILINE) or [0])[0])
    a_step = int((re.findall(r"^result kernels_per_step (\d+)", out, re.MULTILINE) or [0])[0])
    yield judged("its session", own == 20 * a_step > 0, "%d kernels in 20 steps" % own, "%d" % (20 * a_step),
                 recording.done.words())
    seen = recording.seen()
    ours, rest = len(seen.of("kernel")), 100 * a_step
    yield judged("ours before and after", 0 < ours <= rest, "%d kernels of the other 100 steps" % ours, "up to %d" % rest,
                 recording.done.words())
    yield said(recording)


def run(context):
    yield from of_trainer(context) if context.simulated else of_torch(context)


PART = Part("own_profiler", "a program with a profiler session of its own", 60, (), run)
