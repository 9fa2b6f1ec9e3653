# SPDX-License-Identifier: Apache-2.0
"""Three witnesses of one program: what it says that it did, what torch.profiler saw in a run of it, what we saw in another."""

import collections
import glob
import os
import re

import traces
from context import PROGRAMS, ROOT, ZOO, last_json
from part import Part, checked_row, not_asked

# What they do of themselves is no count of kernels: their steps are. The first trains twice.
STEPS = 20
SCRIPTS = {"mlp": 2 * STEPS, "transformer_sdpa": STEPS, "resnet_amp": STEPS, "lstm": STEPS}
# Name, program, what it needs, whether torch.profiler can look at it.
OTHERS = (("NCCL of one rank", "nccl_one_rank.py", "torch", True), ("Triton", "triton_app.py", "triton", True),
          ("CuPy", "cupy_app.py", "cupy", False), ("JAX", "jax_app.py", "jax", False))
WRAP = os.path.join(ROOT, "tests", "e2e", "simgpu", "wrap.py")
WHOLE = ("--span-size", "100000000")
EXPECTED = "missing 0, extra 0, linked 100 %, 0 before their launch, 0 overlaps"


def seen_counts(seen):
    """As the programs count: kernels by name, copies by direction, sets."""
    found = collections.Counter(one.name for one in seen.of("kernel"))
    found.update(one.name.split()[1] for one in seen.of("copy"))
    found["set"] = len(seen.of("set"))
    return found


def against_program(seen, counts):
    """Sentences: where we differ from what the program says."""
    recorded = seen_counts(seen)
    return ["%s: %d, the program says %d" % (name, recorded[name], count)
            for name, count in counts.items() if recorded[name] != count]


def totals(seen):
    return "%d kernels, %d copies, %d sets" % seen.counts()


def taken(seen):
    """The copy of CUPTI: its version and place."""
    return "%s, %s" % (seen.fact("cupti_version"), seen.fact("cupti_path")) if seen.fact("cupti_path") else ""


def row(name, recording, counts, profiled=None):
    """The verdict over one program. `counts`: {} where it tells none."""
    seen = recording.trace()
    missing, extra, first = traces.difference(profiled, seen) if profiled else (0, 0, "")
    there, work, amid = traces.linked(seen)
    early, overlaps = traces.before_launch(seen), traces.overlaps(seen)
    bad = against_program(seen, counts)
    if missing or extra:
        # Where only names differ, it may be their spelling.
        bad.append("missing %d, extra %d against torch.profiler (%s); without names %d and %d" % (
            missing, extra, first, *traces.difference(profiled, seen, traces.Work.shape)[:2]))
    if amid:
        bad.append("%d without a call" % amid)
    if early:
        bad.append("%d before their launch (%s)" % (len(early), early[0].name))
    if overlaps:
        one, other = overlaps[0]
        bad.append("%d overlaps (%s and %s, %d ns)" % (len(overlaps), one.name, other.name, one.end - other.start))
    if recording.done.status or not work:
        bad.append("status %s, %s" % (recording.done.status, recording.done.last_lines()))
    witnesses = ["the program"] * bool(counts) + ["torch.profiler"] * bool(profiled) + ["gpuprof"]
    text = "%s (%s); missing %d, extra %d, linked %.1f %%, %d before their launch, %d overlaps, drops: %s" % (
        totals(seen), " = ".join(witnesses) if not bad else "gpuprof", missing, extra, 100 * there / max(1, work),
        len(early), len(overlaps), recording.lost())
    return checked_row(name, not bad, text, EXPECTED, "; ".join(bad), kernels=seen.counts()[0], work=work, linked=there,
                       missing=missing, extra=extra, early=len(early), overlaps=len(overlaps), cupti=taken(seen))


def profiled_run(context, name, script, arguments):
    """torch.profiler's run: (what it saw or None, how the run ended)."""
    folder = context.path("witness", name, "")
    done = context.run(context.on_gpu([context.python, WRAP, folder, script, *arguments]), 60)
    files = glob.glob(os.path.join(folder, "kineto.*.json"))
    return (traces.read_kineto(files[0]) if done.status == 0 and files else None), done


def of_torch(context, name, script, arguments, profiled=True, steps=None):
    """Its rows."""
    seen, done = profiled_run(context, name, script, arguments) if profiled else (None, None)
    if profiled and seen is None:
        return [checked_row(name, False, "torch.profiler's run gave status %s" % done.status, EXPECTED, done.last_lines())]
    recording = context.record("witness-" + name.replace(" ", "_"), context.on_gpu([context.python, script, *arguments]), *WHOLE,
                               keep=True)
    printed = last_json(recording.done.out)
    if "skip" in printed:
        return [not_asked(name, printed["skip"])]
    found = [row(name, recording, printed.get("counts", {}), seen)]
    if steps:
        recorded = len(recording.trace().steps)
        found.append(checked_row(name + ", steps", recorded == steps, "%d" % recorded, "%d, the program's count" % steps))
    return found


def run_case(context, case):
    name, script, need, profiled = case
    lacks = context.lacks(need)
    if lacks:
        return [not_asked(name, lacks)]
    arguments = ["--steps", str(STEPS)] if name in SCRIPTS else []
    return of_torch(context, name, script, arguments, profiled, SCRIPTS.get(name))


def by_driver(context, options=(), name="driver API", twist=0):
    """The driver-API program; `twist` is what the planted fault adds to its own count."""
    recording = context.record("witness-driver", context.driver("work", "--steps", STEPS), *WHOLE, *options, keep=True)
    counts = last_json(recording.done.out).get("counts", {})
    if not counts:
        return checked_row(name, False, "the program told nothing", EXPECTED, recording.done.last_lines())
    counts["gpu_check_empty"] += twist
    return row(name, recording, counts)


def by_trainer(context):
    """The C++ program of the simulated GPU, which prints what it did; names of its kernels are mangled there."""
    command = context.on_gpu([os.path.join(context.simulator, "sim_trainer"), "--steps", str(STEPS), "--graph-nodes", "5"])
    recording = context.record("witness-trainer", command, *WHOLE)
    printed = recording.done.out
    counts = {kind: int(count) for kind, count in re.findall(r"^result memcpy (\w+) (\d+)", printed, re.MULTILINE)}
    counts["set"] = int((re.findall(r"^result memset (\d+)", printed, re.MULTILINE) or [0])[0])
    kernels = int((re.findall(r"^result kernels (\d+)", printed, re.MULTILINE) or [0])[0])
    seen = recording.trace()
    found = row("C++ trainer", recording, counts)
    if len(seen.of("kernel")) != kernels:
        return checked_row("C++ trainer", False, found.result, EXPECTED,
                           "kernels: %d, the program says %d" % (len(seen.of("kernel")), kernels))
    return found


def jax_in_order(context):
    """XLA lets its kernels begin before the one in front of them has ended (programmatic dependent launch), on GPUs that can;
    told not to, none may lie over another."""
    name, lacks = "JAX, no early begin", context.lacks("jax")
    if lacks:
        return not_asked(name, lacks)
    command = ["env", "XLA_FLAGS=--xla_gpu_enable_pdl=false", *context.program("jax_app.py")]
    recording = context.record("witness-JAX-in-order", context.on_gpu(command), *WHOLE)
    if recording.done.status or "skip" in last_json(recording.done.out):
        return not_asked(name, "this JAX uses no GPU or does not know XLA's flag: " + recording.done.last_lines())
    overlaps = traces.overlaps(recording.trace())
    return checked_row(name, not overlaps, "%s, %d overlaps" % (totals(recording.trace()), len(overlaps)), "0 overlaps")


def run(context):
    yield by_driver(context)
    if context.simulated:
        yield by_trainer(context)
    cases = [(name, os.path.join(ZOO, name + ".py"), "torch", True) for name in SCRIPTS]
    cases += [(name, os.path.join(PROGRAMS, script), need, profiled) for name, script, need, profiled in OTHERS]
    for rows in context.each(lambda case: run_case(context, case), cases):
        yield from rows
    yield jax_in_order(context)


PART = Part("witness", "the program, torch.profiler and gpuprof on the same programs", 110, (), run)
