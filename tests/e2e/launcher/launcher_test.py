# SPDX-License-Identifier: Apache-2.0
"""Which processes get a file: launchers, helpers, wrappers and plain C++ programs."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import sim  # noqa: E402
from trace_facts import Facts  # noqa: E402

CPU = "x = 0\nfor i in range(6 * 10**6): x += i * i\nprint(x)\n"

# What torchrun does: it asks for the devices, then starts its ranks.
LAUNCHER = """import ctypes, subprocess
cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
print("devices:", count.value, flush=True)
ranks = [subprocess.Popen(%s) for _ in range(2)]
raise SystemExit(max(rank.wait() for rank in ranks))
"""


def pair_of_trainers(out, step_ms):
    """(the run, its files, {span: the step numbers of each worker})."""
    trainer = " ".join(sim.simulated(["--steps", "40", "--step-ms", str(step_ms), "--kernels", "10",
                                      "--helpers", "2"]))
    result = e2e.gpuprof(["-o", out, "--step", "nvtx:step", "--wait", "5", "--warmup", "2",
                          "--active", "6", "--repeat", "2"],
                         ["sh", "-c", "%s & %s & wait" % (trainer, trainer)],
                         env=dict(os.environ, GPUSIM_QUIET="1"))
    paths, by_span = e2e.traces(out), {}
    for path in paths:
        stamp = os.path.basename(path).split(".")[1]
        by_span.setdefault(stamp, []).append(Facts(e2e.load(path)).step_numbers())
    return result, paths, by_span


def two_trainers(checks, folder):
    """Two trainers, each with two helpers that never touch CUDA: two files a span, cut alike."""
    for step_ms in (40, 400, 2000):  # on a busy machine one may begin when the other has done its first steps
        result, paths, by_span = pair_of_trainers(os.path.join(folder, "out-%d" % step_ms), step_ms)
        if len(by_span) == 2 and all(len(numbers) == 2 and numbers[0] == numbers[1] for numbers in by_span.values()):
            break
    workers = {os.path.basename(p).split(".")[0] for p in paths}
    checks.equal(len(workers), 2, "two workers, in one folder: %s" % paths)
    checks.equal(len(by_span), 2, "two spans")
    for stamp, numbers in by_span.items():
        checks.equal(len(numbers), 2, "span %s has both workers" % stamp)
        checks.equal(numbers[0], numbers[-1], "span %s: cut at the same step" % stamp)
    if checks.failed:
        print(result.stderr.decode()[-2000:])


def launcher_that_counts_devices(checks, folder):
    """A parent that initialises CUDA to count the devices and starts two ranks gets no file."""
    script = os.path.join(folder, "launch.py")
    summary = os.path.join(folder, "summary.json")
    for step_ms in (20, 200, 1000):  # the library in a rank may have no processor for the first of them
        with open(script, "w", encoding="utf-8") as file:
            file.write(LAUNCHER % [sim.TRAINER, "--steps", "20", "--step-ms", str(step_ms), "--kernels", "10"])
        out = os.path.join(folder, "out-%d" % step_ms)
        result = e2e.gpuprof(["-o", out, "--summary-json", summary],
                             [sim.GPUSIM_RUN, "--", e2e.real_python(), script],
                             env=dict(os.environ, GPUSIM_QUIET="1"))
        if not sim.STARVED.search(result.stderr) and len(e2e.traces(out)) == 2:
            break
    checks.equal(result.returncode, 0, "counts devices: status: " + result.stderr.decode()[-600:])
    checks.expect(b"devices: " in result.stdout, "counts devices: it did")
    checks.equal(len(e2e.traces(out)), 2, "counts devices: two files: %s" % e2e.traces(out))
    with open(summary, encoding="utf-8") as file:
        processes = json.load(file)["processes"]
    roles = sorted(one["role"] for one in processes if one["pid"])
    checks.equal(roles, ["launcher", "traced", "traced"], "counts devices: roles")


def wrapper_loses_to_child(checks, folder):
    script = os.path.join(folder, "cpu.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(CPU)
    out = os.path.join(folder, "out")
    summary = os.path.join(folder, "summary.json")
    e2e.gpuprof(["-o", out, "--summary-json", summary],
                ["sh", "-c", "%s %s; true" % (e2e.real_python(), script)])
    paths = e2e.traces(out)
    if checks.equal(len(paths), 1, "wrapper: one file"):
        text = json.dumps(e2e.load(paths[0]))
        checks.expect("cpu.py" in text, "wrapper: it is python's file")


def cpu_only_program(checks, folder):
    """A script around a C++ program without CUDA says what it saw."""
    out = os.path.join(folder, "out")
    result = e2e.gpuprof(["-o", out], ["sh", "-c", os.path.join(e2e.BUILD, "unchanged", "threads")
                                       + "; true"])
    checks.equal(result.returncode, 0, "cpu only: status")
    stderr = result.stderr.decode()
    checks.expect("sh" in stderr and ("CUDA" in stderr or "GPU" in stderr),
                  "cpu only: the summary says what was seen and what was not: " + stderr[-600:])


def main():
    sim.require_build()
    checks = e2e.Checks()
    for row in (two_trainers, launcher_that_counts_devices, wrapper_loses_to_child, cpu_only_program):
        with e2e.Folder("launcher") as folder:
            row(checks, folder)
            print("%s: %d passed, %d failed" % (row.__name__, checks.passed, checks.failed))
    checks.done()


if __name__ == "__main__":
    main()
