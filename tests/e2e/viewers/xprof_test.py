# SPDX-License-Identifier: Apache-2.0
"""XPlane and scalar files in the real xprof and TensorBoard: they load, and their tables agree with the
trace file of the same run. On the simulated GPU, on the CPU alone, and of two ranks."""

import glob
import os
import re

import e2e
import sim
import viewers

STEPS = 8
FORMATS = ["--format", "tensorboard,xplane,tfevents"]
CPU_PROGRAM = """
import time
def crunch(n):
    return sum(i * i for i in range(n))
def main():
    begin = time.time()
    while time.time() - begin < 1.5 or time.thread_time() < 1:
        crunch(20000)
main()
"""
TOOLS = {"trace_viewer@", "overview_page", "input_pipeline_analyzer", "framework_op_stats", "memory_profile"}
MEMORY_WORK = ("gpu_memcpy", "gpu_memset")


def near(checks, got, wanted, share, what):
    checks.expect(wanted and abs(got - wanted) <= share * abs(wanted), "%s: got %r, wanted %r" % (what, got, wanted))


class Trace:
    """What the trace file of the same run holds."""

    def __init__(self, path):
        events = e2e.load(path)["traceEvents"]
        by_kind = lambda kinds: [e for e in events if e.get("ph") == "X" and e.get("cat") in kinds]
        self.kernels, self.memory = by_kind(["kernel"]), by_kind(MEMORY_WORK)
        self.kernel_us = sum(e["dur"] for e in self.kernels)
        self.gpu_us = self.kernel_us + sum(e["dur"] for e in self.memory)
        steps = [e for e in events if e.get("ph") == "X" and e["name"].startswith("ProfilerStep#")]
        unique = {e["name"]: e for e in steps}.values()
        self.steps = sorted(((int(e["name"].split("#")[1]), e["dur"]) for e in unique))
        self.late_us = {int(e["name"].split("#")[1]): self.late_work(events, e) for e in unique}
        self.gpus = {e["args"]["device"] for e in self.kernels}
        within = [(e["ts"], e["ts"] + e["dur"]) for e in unique]
        # Other threads also work before, between and after the steps.
        self.begun = sum(any(start <= e["ts"] < end for start, end in within) for e in self.kernels)
        self.clipped_us = sum(max(0, min(end, e["ts"] + e["dur"]) - max(start, e["ts"]))
                              for start, end in within for e in self.kernels)

    def late_work(self, events, step):
        """How long after a step's end what it has launched is over: xprof counts that to the step."""
        end = step["ts"] + step["dur"]
        launched = {e["args"]["correlation"] for e in events if e.get("cat") == "runtime"
                    and step["ts"] <= e["ts"] < end}
        return max([0] + [e["ts"] + e["dur"] - end for e in self.kernels + self.memory
                          if e["args"]["correlation"] in launched])


def check_steps(checks, views, trace):
    labels = ["train %d" % label for label, _ in trace.steps]
    timeline = views["trace_viewer@"]
    checks.equal(len(timeline["steps"]), len(trace.gpus), "a row of steps for each GPU")
    for row in timeline["steps"]:
        # Where work of two steps overlaps on a GPU, the readers draw the later one in two pieces.
        checks.equal(list(dict.fromkeys(name for name, _, _ in row)), labels, "steps of a row")
    # xprof leaves out the first and the last, which may be cut.
    shown = list(views["overview_page"]["steps"].values())
    checks.equal(len(shown), len(labels) - 2, "steps of the overview")
    for got, (label, wanted) in zip(shown, trace.steps[1:-1]):
        late_us = trace.late_us[label]
        checks.expect(-0.02 * wanted <= got * 1000 - wanted <= 0.02 * wanted + late_us,
                      "time of step %d in the overview: got %r, wanted %r, and %r of its work afterwards" % (
                          label, got * 1000, wanted, late_us))


def check_tables(checks, views, trace):
    device = [row for row in views["framework_op_stats"] if row["host_or_device"] == "Device"]
    work = sum(row["total_self_time"] for row in device if row["operation"] != "IDLE")
    near(checks, work, trace.gpu_us, 0.01, "time of operators on the device")
    idle = [row["device_total_self_time_percent"] for row in device if row["operation"] == "IDLE"]
    checks.expect(idle and 0 < idle[0] < 1, "the device is neither always nor never idle: %r" % idle)
    checks.equal(sum(row["occurrences"] for row in views["kernel_stats"]), len(trace.kernels), "kernels")
    near(checks, sum(row["total_duration_us"] for row in views["kernel_stats"]), trace.kernel_us, 0.01,
         "time of kernels")
    names = {row["op_name"] for row in views["kernel_stats"]}
    checks.expect({"step/forward", "step/backward", "step/optimizer"} <= names,
                  "operators of kernels: %r" % names)
    eligible = {row["kernel_name"] for row in views["kernel_stats"] if row["is_kernel_using_tensor_core"]}
    checks.expect(any("gemm" in name for name in eligible), "tensor cores: %r" % eligible)


def check_gpu(checks, session, trace, length_us):
    checks.expect(TOOLS | {"kernel_stats"} <= set(session["tools"]), "tools: %r" % session["tools"])
    checks.equal(len(session["hosts"]), 1, "processes of the session")
    for views in session["hosts"].values():
        check_steps(checks, views, trace)
        check_tables(checks, views, trace)
        timeline = views["trace_viewer@"]
        checks.equal(timeline["arrows"], len(trace.kernels) + len(trace.memory), "arrows from launches to work")
        checks.expect(timeline["first_us"] >= 0 and timeline["last_us"] <= length_us,
                      "events from %r to %r us of %r" % (timeline["first_us"], timeline["last_us"], length_us))
        checks.expect({"Launch Stats", "Step window"} <= set(timeline["rows"]), "rows: %r" % timeline["rows"])
        overview = views["overview_page"]
        checks.expect("Nvidia GPU" in overview["device_type"], "device: %r" % overview["device_type"])
        checks.equal(int(overview["gpus"]), len(trace.gpus), "GPUs")
        checks.expect(any("simulated" in text for text in overview["messages"]),
                      "the overview says that the GPU is simulated: %r" % overview["messages"])


def check_scalars(checks, curves, trace):
    checks.equal(len(curves), 1, "runs of scalars")
    for run, tags in curves.items():
        checks.equal([step for step, _ in tags["step/time_ms"]], [label for label, _ in trace.steps], run)
        for (_, got), (label, wanted) in zip(tags["step/time_ms"], trace.steps):
            near(checks, got * 1000, wanted, 0.001, "scalar of step %d" % label)
        checks.equal(sum(value for _, value in tags["gpu/kernels"]), trace.begun, "kernels in scalars")
        near(checks, sum(value for _, value in tags["gpu/kernel_time_ms"]) * 1000, trace.clipped_us, 0.01,
             "kernel time in scalars")
        checks.expect(all(0 < value < 1 for _, value in tags["gpu/busy"]), "gpu/busy: %r" % tags["gpu/busy"])
        checks.expect(trace.begun >= 12 * STEPS, "the stepping thread's kernels are in its steps: %d" % trace.begun)
        checks.equal([value for _, value in tags["records/dropped"]], [0.0], "dropped records")


def simulated(checks, folder):
    output = os.path.join(folder, "sim")
    done = sim.run(["-o", output, "--step", "nvtx:step", *FORMATS],
                   ["--steps", str(STEPS), "--kernels", "12", "--devices", "2", "--threads", "2"],
                   ["--devices", "2"])
    checks.equal(done.returncode, 0, "exit status: %s" % done.stderr[-500:])
    trace = Trace(e2e.traces(output)[0])
    checks.equal(len(trace.steps), STEPS, "steps of the trace file")
    shown = viewers.xprof(output)
    checks.expect(shown["profiles"]["active"], "the Profile tab is there")
    checks.equal(len(shown["profiles"]["runs"]), 1, "sessions: one a window")
    for name, session in shown["profiles"]["runs"].items():
        checks.expect(re.fullmatch(r"\d{4}(_\d\d){5}_0001", name), "name of the session: %s" % name)
        check_gpu(checks, session, trace, 60e6)
    check_scalars(checks, shown["scalars"], trace)


def behind_the_host(checks, folder):
    """A program that does not wait for its GPU: each step is drawn in one piece, after the one before."""
    output = os.path.join(folder, "behind")
    done = sim.run(["-o", output, "--step", "nvtx:step", "--format", "xplane"],
                   ["--steps", str(STEPS), "--kernels", "40", "--streams", "1", "--host-ms", "0", "--no-sync"], [])
    checks.equal(done.returncode, 0, "exit status: %s" % done.stderr[-500:])
    for session in viewers.xprof(output)["profiles"]["runs"].values():
        for views in session["hosts"].values():
            rows = views["trace_viewer@"]["steps"]
            checks.equal([[name for name, _, _ in row] for row in rows],
                         [["train %d" % (i + 1) for i in range(STEPS)]], "steps behind the host")


def on_cpu(checks, folder):
    output, script = os.path.join(folder, "cpu"), os.path.join(folder, "crunching.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(CPU_PROGRAM)
    done = e2e.gpuprof(["-o", output, "--format", "xplane,tfevents"], [e2e.real_python(), script])
    checks.equal(done.returncode, 0, "exit status: %s" % done.stderr[-500:])
    shown = viewers.xprof(output)
    for session in shown["profiles"]["runs"].values():
        checks.expect(TOOLS <= set(session["tools"]), "tools without a GPU: %r" % session["tools"])
        for views in session["hosts"].values():
            sampled = [name for row, names in views["trace_viewer@"]["names"].items()
                       if row.endswith(" samples") for name in names]
            checks.expect(any("crunching.py" in name and "crunch" in name for name in sampled),
                          "the script's functions are drawn: %r" % sampled[:20])
            messages = views["overview_page"]["messages"]
            checks.expect(any("no GPU work: " in text for text in messages), "what is missing: %r" % messages)
    for tags in shown["scalars"].values():
        checks.expect(len(tags["step/time_ms"]) == 1 and tags["step/time_ms"][0][1] > 1000,
                      "without steps the window is one: %r" % tags)


def of_windows(checks, folder):
    """Each window is a session of its own; both processes are in each."""
    output = os.path.join(folder, "ranks")
    command = [sim.TRAINER, "--steps", "12", "--step-ms", "5"]
    both = ["sh", "-c", '"$@" & "$@"; wait', "sh", *command]
    done = e2e.gpuprof(["-o", output, "--format", "xplane", "--step", "nvtx:step", "--skip-first", "2", "--wait", "1",
                        "--warmup", "1", "--active", "3", "--repeat", "2"], [sim.GPUSIM_RUN, "--", *both],
                       env=dict(os.environ, GPUSIM_QUIET="1"))
    checks.equal(done.returncode, 0, "exit status: %s" % done.stderr[-500:])
    files = glob.glob(os.path.join(output, "plugins", "profile", "*", "*.xplane.pb"))
    folders = sorted({os.path.dirname(path) for path in files})
    checks.equal([os.path.basename(name)[-5:] for name in folders], ["_0001", "_0002"], "a folder a window")
    for name in folders:
        checks.equal(len(os.listdir(name)), 2, "both processes in %s" % name)
    for session in viewers.xprof(output)["profiles"]["runs"].values():
        for host, views in session["hosts"].items():
            rows = views["trace_viewer@"]["steps"]
            checks.equal([len(row) for row in rows], [3], "%s: steps of a window" % host)


def main():
    viewers.require_viewer("xprof")
    sim.require_build()
    checks = e2e.Checks()
    with e2e.Folder("viewers-xprof") as folder:
        simulated(checks, folder)
        behind_the_host(checks, folder)
        on_cpu(checks, folder)
        of_windows(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
