# SPDX-License-Identifier: Apache-2.0
"""gpuprof attach to a PyTorch training that runs, nobody prepared: what its traces hold, whether the
viewers take them, how soon the first event comes, which steps, and that it computes the same.

usage: training_test.py [--device cpu|cuda] [--times N] [--keep FOLDER]
cuda: on the simulated GPU."""

import argparse
import json
import os
import shutil
import sys

import attached
import e2e
import torch_runs
import torch_trace
import trace_facts
import viewers

FIRST_EVENT_S = 1.0
SLOW_S = 0.4  # of each slow step, between its forward and its backward
MODULES = {"Net_0", "Sequential_0", "Linear_0", "ReLU_0", "Linear_1"}


class Training:
    """The program, until it is reported to end; then what it knows of its steps."""

    def __init__(self, python, folder, device, pause, inside=0.0):
        self.folder = os.path.join(folder, device + ("-slow" if inside else ""))
        os.makedirs(self.folder, exist_ok=True)
        self.command = [python, os.path.join(attached.PROGRAMS, "train.py"), self.folder, "--device", device]
        if device != "cpu":
            self.command = attached.on_gpu(self.command)
        self.env = attached.environment(**({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}))
        self.program = attached.Program(
            [*self.command, "--pause", str(pause), "--pause-inside", str(inside)], self.folder, env=self.env)

    def end(self):
        """(exit status, when each step began, losses)."""
        return (self.program.end(), *self.progress())

    def progress(self):
        with open(os.path.join(self.folder, "steps.json"), encoding="utf-8") as file:
            known = json.load(file)
        return known["began_ns"], known["losses"]

    def again(self, steps):
        """Losses of as many steps without anybody attached."""
        program = attached.Program([*self.command, "--steps", str(steps)], self.folder, "again", env=self.env)
        program.wait(600)
        return self.progress()[1]


def stacks(trace):
    """(Python frames, native frames) among the sampled ones of the training's own thread."""
    names = [event["name"] for event in trace["traceEvents"]
             if event.get("ph") == "B" and event.get("cat") == "cpu_sample"]
    return (sum("train.py(" in name for name in names), sum("!" in name for name in names))


def has_steps(recording):
    """Whether the window saw the training run, operators, steps and samples: a busy machine needs a longer one."""
    recorded = torch_trace.read_gpuprof(recording.paths[:1])
    return recorded.operators and len(recorded.steps) >= 2 and min(stacks(e2e.load(recording.paths[0]))) > 0


def check_contents(checks, what, recording, device):
    trace = e2e.load(recording.paths[0])
    recorded = torch_trace.read_gpuprof(recording.paths[:1])
    facts = trace_facts.Facts(trace)
    python, native = stacks(trace)
    shaped = sum(bool(op.args.get("Input Dims")) for op in recorded.operators if op.name == "aten::addmm")
    stacked = sum("train.py(" in op.args.get("Call stack", "") for op in recorded.operators)
    modules = {event.name.split(": ")[1] for event in recorded.modules}
    print("%s: %d operators (%d aten::addmm with shapes, %d with a stack of the program), %d steps, "
          "%d modules, %d Python and %d native frames, %d kernels" % (
              what, len(recorded.operators), shaped, stacked, len(recorded.steps), len(modules), python, native,
              len(facts.kernels)), flush=True)
    checks.expect(shaped > 0 and stacked > 0, what + ": shapes and stacks of operators")
    checks.equal(modules, MODULES, what + ": modules")
    checks.expect(python > 0 and native > 0, what + ": sampled frames: %d, %d" % (python, native))
    checks.expect(len(recorded.steps) >= 2 and "train.py" in recorded.steps[0].args.get("where", ""),
                  what + ": steps: %s" % recorded.steps[:1])
    if device != "cpu":
        kernels = {k["args"].get("External id") for k in facts.kernels}
        owners = {op["args"].get("External id") for op in facts.by_cat["cpu_op"]}
        checks.expect(facts.kernels and kernels <= owners, what + ": %d of %d kernels' operators are there" % (
            len(kernels & owners), len(kernels)))


def check_viewers(checks, what, out, device):
    """The plugin on the folder, HTA on what is below kineto."""
    plugin_views = viewers.plugin(out) if viewers.python_of("view") else None
    if plugin_views is None:
        checks.skip("the plugin is not installed (scripts/setup --viewers)")
    else:
        worker = next(w for run, all_ in plugin_views.items() if not run.startswith("kineto") for w in all_.values())
        wanted = {"Overview", "Operator", "Trace", "Module"} | (
            {"Kernel"} if device != "cpu" else set())
        checks.expect(wanted <= set(worker["views"]), what + ": views %s" % worker["views"])
        print("%s: the plugin shows %s and %d steps" % (what, ", ".join(worker["views"]),
                                                        len(worker["overview"]["steps"])), flush=True)
    if not viewers.python_of("hta"):
        checks.skip("HTA is not installed (scripts/setup --viewers)")
    elif device != "cpu":  # HTA is about kernels
        found = viewers.hta(os.path.join(out, "kineto", "span_0001"))
        checks.expect(found["temporal"] and len(found["kernels"]) > 3 and not found["below_zero"],
                      what + ": HTA: %s" % str(found)[:500])
        print("%s: HTA finds %d kinds of kernels and %d steps" % (what, len(found["kernels"]),
                                                                  len(found["steps"])), flush=True)


def check_steps(checks, what, recording, began_ns, requested):
    """Exactly the steps that were requested, each one iteration of the program's, one after the other."""
    steps = torch_trace.read_gpuprof(recording.paths).steps
    iterations = []
    for step in steps:
        middle = (step.start + step.end) // 2
        iterations.append(sum(1 for at in began_ns if at <= middle) - 1)
    print("%s: steps %s in the file are the program's %s" % (what, [s.label for s in steps], iterations), flush=True)
    if not checks.equal(len(steps), requested, what + ": steps in the file"):
        return []
    checks.equal(iterations, list(range(iterations[0], iterations[0] + len(steps))),
                 what + ": the program's own iterations in a row")
    counted = recording.summary["windows"][0]
    checks.equal([s.label for s in steps], list(range(counted["first_step"], counted["first_step"] + requested)),
                 what + ": numbers of the steps")
    return steps


def slow_steps(checks, python, folder):
    """Whoever comes finds a slow step half done: it is not the first one of the file."""
    training = Training(python, folder, "cpu", 0, SLOW_S)
    with training.program as program:
        recording = attached.record(["attach", str(program.pid), "--active", "3"], os.path.join(folder, "slow"))
        checks.equal(recording.status, 0, recording.stderr)
        status, began_ns, _ = training.end()
    checks.equal((status, program.errors()), (0, ""), "the slow training's status and stderr")
    steps = check_steps(checks, "slow, --active 3", recording, began_ns, 3)
    took_s = [(step.end - step.start) / 1e9 for step in steps]
    print("slow, --active 3: steps of %s s, with a pause of %s s inside each" % (
        ", ".join("%.3f" % s for s in took_s), SLOW_S), flush=True)
    checks.expect(took_s and min(took_s) >= SLOW_S, "the first step is as long as the others: %s" % took_s)


def run(checks, python, folder, device, times):
    training = Training(python, folder, device, 0.002 if device == "cpu" else 0.01)
    with training.program as program:
        recordings = []
        for number in range(times):
            options = ["--format", "tensorboard,kineto"] if number == 0 else []
            recording = attached.record_until(has_steps, 1, ["attach", str(program.pid), *options],
                                              os.path.join(folder, "%s-%d" % (device, number)))
            checks.equal((recording.status, len(recording.paths) > 0), (0, True), recording.stderr)
            recordings.append(recording)
        first = [recording.first_operator_s() for recording in recordings if recording.paths]
        print("%s: first operator %s ms after the start of gpuprof attach" % (
            device, ", ".join("%.0f" % (1000 * s) for s in first)), flush=True)
        checks.in_time(min(first) < FIRST_EVENT_S, "%s: first operators after %s s" % (device, first))
        scheduled = attached.record(["attach", str(program.pid), "--wait", "5", "--warmup", "2", "--active",
                                     "3", "--repeat", "1"], os.path.join(folder, device + "-steps"))
        checks.equal(scheduled.status, 0, scheduled.stderr)
        status, began_ns, losses = training.end()
    checks.equal((status, program.errors()), (0, ""), "the training's status and stderr")
    check_contents(checks, device, recordings[0], device)
    check_viewers(checks, device, os.path.join(folder, device + "-0"), device)
    check_steps(checks, "--wait 5 --warmup 2 --active 3", scheduled, began_ns, 3)
    if device == "cpu":
        without = training.again(len(losses))
        checks.expect(losses == without, "losses differ from step %s on" % next(
            (i for i, (a, b) in enumerate(zip(losses, without)) if a != b), "the end"))
        print("%d losses, attached %d times, are those of a run without us to the last bit: %s … %s" % (
            len(losses), times + 1, losses[0], losses[-1]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--keep")
    options = parser.parse_args()
    attached.require_attach()
    python = torch_runs.require_torch() if options.device == "cuda" else torch_runs.torch_python()
    checks = e2e.Checks()
    with e2e.Folder("attach-training") as folder:
        if options.keep:
            shutil.rmtree(options.keep, ignore_errors=True)
        run(checks, python, options.keep or folder, options.device, options.times)
        if options.device == "cpu":
            slow_steps(checks, python, options.keep or folder)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
