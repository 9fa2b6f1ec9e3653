# SPDX-License-Identifier: Apache-2.0
"""Rows of the cost table that compare recorded steps with steps around them: host samples, operators, the simulated GPU,
launches, and what switching off does."""

import statistics
import subprocess
import time

import figures
import windows
from figures import Row

NAMES = ["-t", "torch", "--no-record-shapes", "--no-with-stack", "--no-with-modules", "--no-profile-memory"]
ALL = ["-t", "torch"]
MODELS = ("mlp", "conv", "transformer")
LAUNCHES = 100  # in a step of training.py
GPU_WORK = ["kernels", "memory copies", "memory sets"]  # as the summary calls them


class Expected:
    """Records that a run should have left: so many a step, by the program's own count of steps."""

    def __init__(self, written, captured):
        self.steps = figures.Steps(written["began_ns"])
        self.written, self.captured = written, captured

    def samples(self, rate_hz):
        """Of one thread that is always running."""
        return round(sum(end - start for start, end in self.captured.windows) * rate_hz / 1e9)

    def of(self, kind, in_a_step):
        """in_a_step: what another process of the row counted, for one in which torch.profiler could not."""
        count = sum(len(self.steps.inside(*window)) for window in self.captured.windows)
        return count * (self.written.get(kind) or in_a_step)


def shares(times):
    """How many windows each of the processes of a row has."""
    count = min(windows.PROCESSES, times)
    return [times // count + (i < times % count) for i in range(count)]


def ours(place, case, goal, most, model, device, options, times, kinds, note="", added=None):
    """A row of ours. kinds: (what torch.profiler counts or samples a second, what the summary calls it). added: launches in a
    step, for nanoseconds a launch instead of ratios."""
    of, named = kinds
    row = Row(case, goal, [], unit="ns" if added else "x", most=most, expected=0, recorded=0, dropped=0, note=note)
    runs = []
    for share in shares(times):
        captured, written = windows.capture(place, model, device, options, share)
        expected = Expected(written, captured)
        row.values += figures_of(expected.steps, captured.windows, captured.quiet, added)
        runs.append(expected)
        row.recorded += sum(captured.recorded.get(name, 0) for name in named)
        row.add_drops(captured.drops)
    in_a_step = max(run.written.get(of) or 0 for run in runs)
    row.expected = sum(run.samples(of) if isinstance(of, int) else run.of(of, in_a_step) for run in runs)
    return row


def beside(place, case, model, device, peer, times, added=None):
    """A row of something else that is switched on and off in the program (training.py --peer)."""
    values = []
    for share in shares(times):
        steps, spans, quiet, _ = windows.peer_windows(place, model, device, peer, share)
        values += figures_of(steps, spans, quiet, added)
    return Row("  beside it: " + case, "", values, unit="ns" if added else "x")


def torch_profiler(place, case, model, device, peer, times, added=None):
    return beside(place, "torch.profiler, " + case, model, device, peer, times, added)


def figures_of(steps, spans, quiet, added):
    """Ratios, or ns that each of so many launches in a step takes longer."""
    values = windows.ratios(steps, spans, quiet)
    return added_ns(values, plain_step_ns(steps, quiet), added) if added else values


def py_spy(place, case, model, options, times):
    """py-spy comes and goes; what it does between its start and its first sample is left out."""
    spy = place.py_spy
    if spy is None:
        return Row("  beside it: py-spy " + case, "", [], note="py-spy is not installed")
    path, trouble = place.path("times.json"), ""
    program = windows.Program(place, place.training(model, "cpu", path), path)
    spans, quiet, since = [], [], time.monotonic_ns()
    try:
        for _ in range(times):
            time.sleep(windows.WINDOW)
            began = time.monotonic_ns()
            quiet.append((since, began))
            done = subprocess.run([spy, "record", "-p", str(program.pid), "-d", "1", "-o", place.path("spy.svg"),
                                   *options], capture_output=True, timeout=60, check=False)
            if done.returncode != 0:
                trouble = "py-spy: " + (done.stderr.decode(errors="replace").strip().splitlines() or ["?"])[-1]
                break
            since = time.monotonic_ns()
            # It records for the second before it writes; its own start and end are not held against it.
            spans.append((began + 500_000_000, began + 1_000_000_000))
        quiet.append((since, since + 1))
        time.sleep(windows.WINDOW)
        quiet[-1] = (since, time.monotonic_ns())
    finally:
        written = program.end()
    steps = figures.Steps(written["began_ns"])
    return Row("  beside it: py-spy " + case, "", windows.ratios(steps, spans, quiet), note=trouble)


def sampling(place, times):
    for model in ("mlp", "transformer"):
        yield ours(place, "samples at 100 Hz, Python frames, %s" % model, "<= 1.01", 1.01, model, "cpu",
                   ["-t", "python", "-r", "100"], times, (100, ["samples"]))
        yield beside(place, "an empty handler of as many signals, %s" % model, model, "cpu", "signals-100", times)
        yield py_spy(place, "-r 100, %s" % model, model, ["-r", "100"], times)
        yield ours(place, "samples at 100 Hz, Python and native frames, %s" % model, "<= 1.03", 1.03, model, "cpu",
                   ["-t", "python,native", "-r", "100"], times, (100, ["samples"]))
        yield py_spy(place, "-r 100 --native, %s" % model, model, ["-r", "100", "--native"], times)
        yield ours(place, "the same by --sampler cpu-timer, %s" % model, "<= 1.03", 1.03, model, "cpu",
                   ["-t", "python,native", "-r", "100", "--sampler", "cpu-timer"], times, (100, ["samples"]))
        yield ours(place, "samples at 1000 Hz, Python and native frames, %s" % model, "<= 1.06", 1.06, model, "cpu",
                   ["-t", "python,native", "-r", "1000"], times, (1000, ["samples"]))
        yield beside(place, "an empty handler of as many signals, %s" % model, model, "cpu", "signals-1000", times)
        yield py_spy(place, "-r 1000 --nonblocking (it has no native frames then), %s" % model, model,
                     ["-r", "1000", "--nonblocking"], times)


def operators(place, times):
    for model in MODELS:
        names, all_of_it = (1.25, 1.35) if model == "mlp" else (1.02, 1.03)
        kinds = ("operators", ["operators"])
        yield ours(place, "operators: names, %s" % model, "<= %.2f" % names, names, model, "cpu", NAMES, times, kinds)
        yield torch_profiler(place, "CPU activity, %s" % model, model, "cpu", "names", times)
        yield beside(place, "an empty callback, %s" % model, model, "cpu", "callback", times)
        yield ours(place, "operators: + shapes, stacks, modules, %s" % model, "<= %.2f" % all_of_it, all_of_it, model, "cpu",
                   ALL, times, kinds, "without memory of the CPU, which is recorded from a program's start only")
        yield torch_profiler(place, "the same and memory, %s" % model, model, "cpu", "all", times)


def gpu(place, times):
    for model in ("mlp", "transformer", "conv"):
        yield ours(place, "simulated GPU: kernels, copies, %s" % model, "<= 1.03", 1.03, model, "cuda",
                   ["-t", "cuda", "--no-with-stack"], times, ("kernels", GPU_WORK))
        yield torch_profiler(place, "CUDA activity, %s" % model, model, "cuda", "device", times)
        yield ours(place, "simulated GPU: + operators' names, %s" % model, "<= 1.15", 1.15, model, "cuda",
                   ["-t", "cuda,torch", *NAMES[2:]], times, ("kernels", GPU_WORK))
        yield torch_profiler(place, "CPU and CUDA activity, %s" % model, model, "cuda", "names", times)
        yield ours(place, "simulated GPU: everything, %s" % model, "<= 1.25", 1.25, model, "cuda", [], times,
                   ("kernels", GPU_WORK))
        yield torch_profiler(place, "everything, %s" % model, model, "cuda", "all", times)


def added_ns(values, plain_ns, launches):
    return [(value - 1) * plain_ns / launches for value in values]


def plain_step_ns(steps, quiet):
    return statistics.median([mean for mean in (steps.mean(*stretch) for stretch in quiet) if mean])


def launches(place, times):
    """Nanoseconds that one launch takes longer: additions in place, 100 in a step."""
    for case, goal, options, peer in (
            ("device", 300, ["-t", "cuda", "--no-with-stack"], "device"),
            ("device and operators", 500, ["-t", "cuda,torch", *NAMES[2:]], "names"),
            ("device, operators, stacks", 800, ["-t", "cuda,torch"], "all")):
        yield ours(place, "a launch on the simulated GPU: " + case, "<= %d ns" % goal, goal, "launches", "cuda", options, times,
                   ("kernels", ["kernels"]), added=LAUNCHES)
        yield torch_profiler(place, case, "launches", "cuda", peer, times, added=LAUNCHES)


def stop(place, times):
    """From the end of a window to its files, and the longest step around it."""
    for model, device in (("transformer", "cpu"), ("mlp", "cuda")):
        on = " on the simulated GPU" if device == "cuda" else ""
        captured, written = windows.capture(place, model, device, [], times)
        steps = figures.Steps(written["began_ns"])
        events = captured.events / max(1, len(captured.windows))
        allowed = 2 + 0.5 * events / 1e6
        yield Row("end of a window to its files, %s%s" % (model, on), "<= %.2f s" % allowed,
                  [ns / 1e9 for ns in captured.stops], "s", allowed, note="%.0f events a window" % events)
        usual = [steps.longest(*stretch) for stretch in captured.quiet[1:]]
        stalls = [max(0, steps.longest(end - windows.EDGE_NS, end + stopped) - quiet) / 1e6
                  for (_, end), stopped, quiet in zip(captured.windows, captured.stops, usual)]
        yield Row("longest step after a window beyond the longest without us, %s%s" % (model, on), "< 1 ms", stalls,
                  "ms", 1)
        _, _, _, peer = windows.peer_windows(place, model, device, "all", times)
        yield Row("  beside it: torch.profiler's stop on the training's thread, %s%s" % (model, on), "",
                  [ns / 1e6 for ns in peer["stop_ns"]], "ms")
