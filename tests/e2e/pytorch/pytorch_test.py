# SPDX-License-Identifier: Apache-2.0
"""A real PyTorch training on the CPU, unedited: same output, stacks that reach its lines, true rates.

usage: pytorch_test.py [--pairs N] [--steps N] [--rate HZ]
  --pairs N   also time the steps of N interleaved pairs of runs with and without gpuprof
              (with --steps 200 or more)"""

import argparse
import collections
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
from torch_python import python_with_torch  # noqa: E402

PROGRAM = os.path.join(e2e.SOURCE, "tests", "e2e", "programs", "train_cpu.py")
SAMPLE_TIDS = 100_000_000  # rows of sampled stacks (docs/trace-format.md)


def leaf_stacks(trace):
    """(tid, stack of names, duration) of each stretch a sampled row shows the same stack."""
    rows = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event.get("ph") in "BE" and str(event.get("cat", "")).startswith("cpu_sample"):
            rows[event["tid"]].append(event)
    for tid, events in rows.items():
        stack, since = [], None
        for event in events:
            if stack and event["ts"] > since:
                yield tid - SAMPLE_TIDS, list(stack), event["ts"] - since
            since = event["ts"]
            if event["ph"] == "B":
                stack.append(event["name"])
            elif stack:
                stack.pop()


def reach(trace, main_tid):
    """Share of the main thread's running time whose stack holds a line of the program.

    The interpreter's own start and end have no line of any program."""
    good = total = 0.0
    outside = ("Py_FinalizeEx", "pymain_init", "Py_InitializeFromConfig")
    for tid, stack, duration in leaf_stacks(trace):
        if any(frame.split("!")[-1] in outside for frame in stack):
            continue
        if tid == main_tid and stack[-1] != "(blocked)":
            total += duration
            if any("train_cpu.py" in name for name in stack):
                good += duration
    return good / total if total else 0.0


def mixed(trace):
    """Threads that show Python and native frames in one stack, and all sampled threads."""
    both, seen = set(), set()
    for tid, stack, _ in leaf_stacks(trace):
        seen.add(tid)
        python = any(".py(" in name for name in stack)
        native = any("!" in name or ".cpp(" in name for name in stack)
        if python and native:
            both.add(tid)
    return both, seen


def check_rates(checks, trace, rate):
    """Running samples per CPU second of each busy thread, from the trace's own thread list."""
    for thread in trace["gpuprof"]["threads"]:
        cpu = thread["sampled_cpu_ns"] / 1e9
        if cpu < 2.0:
            continue
        got = thread["running_samples"] / cpu
        # A host that is short of processors takes a virtual one away, and samples with it.
        checks.in_time(0.9 * rate <= got <= 1.05 * rate,
                       "thread %s: %.1f samples per CPU second at %d Hz" % (thread["tid"], got, rate))
        print("thread %s: %.1f samples per CPU second (%.1f s)" % (thread["tid"], got, cpu))


def step_ms(command):
    """Milliseconds a step between the first and the last line that names one; the start of the
    process and what happens after its end are not in it."""
    seen = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        for line in process.stdout:
            if line.startswith(b"step "):
                seen.append((int(line.split()[1].rstrip(b":")), time.monotonic()))
    (first, began), (last, ended) = seen[0], seen[-1]
    return 1000 * (ended - began) / (last - first)


def pairs(python, steps, rate, count, folder):
    plain = [python, PROGRAM, "--steps", str(steps)]
    profiled = [e2e.GPUPROF, "run", "-q", "-r", str(rate), "-o", os.path.join(folder, "pairs"), "--",
                *plain]
    ratios = []
    for i in range(count):
        profiled_ms, plain_ms = ((step_ms(profiled), step_ms(plain)) if i % 2 else
                                 (step_ms(plain), step_ms(profiled))[::-1])
        ratios.append(profiled_ms / plain_ms)
        print("pair %2d: %.2f ms a step with, %.2f ms without" % (i + 1, profiled_ms, plain_ms), flush=True)
    ratios.sort()
    print("step time with / without at %d Hz, %d pairs: median %.3f, quartiles %.3f to %.3f, "
          "min %.3f, max %.3f" % (rate, count, statistics.median(ratios), ratios[count // 4],
                                  ratios[3 * count // 4], ratios[0], ratios[-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rate", type=int, default=100)
    arguments = parser.parse_args()
    python = python_with_torch()
    checks = e2e.Checks()
    command = [python, PROGRAM, "--steps", str(arguments.steps)]
    with e2e.Folder("pytorch") as folder:
        plain = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        profiled = e2e.gpuprof(["-q", "-o", folder, "-r", str(arguments.rate), "--span-size", "100M"],
                            command, timeout=600)
        checks.equal(profiled.returncode, plain.returncode, "status")
        checks.equal(profiled.stdout, plain.stdout, "stdout")
        checks.equal(profiled.stderr, plain.stderr, "stderr")
        paths = e2e.traces(folder)
        if checks.equal(len(paths), 1, "one file"):
            trace = e2e.load(paths[0])
            main_tid = int(os.path.basename(paths[0]).split(".")[0].rsplit("_", 1)[1])
            share = reach(trace, main_tid)
            checks.expect(share >= 0.95, "%.1f %% of the main thread's samples reach a line of the "
                          "program" % (100 * share))
            both, seen = mixed(trace)
            checks.expect(main_tid in both, "the main thread shows mixed stacks")
            print("%.1f %% of main-thread samples reach train_cpu.py; %d of %d sampled threads show "
                  "mixed stacks" % (100 * share, len(both), len(seen)))
            check_rates(checks, trace, arguments.rate)
        if arguments.pairs:
            pairs(python, arguments.steps, arguments.rate, arguments.pairs, folder)
    checks.done()


if __name__ == "__main__":
    main()
