# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training under `gpuprof run --armed`: until somebody captures it no kind of CUPTI is on, no
signal is ours, and the worker thread makes a system call now and then; a capture has its first operator within
100 ms, a second capture is a second span, and one while another runs is refused.

usage: armed_test.py [--device cpu|cuda] [--seconds N]
cuda: on the simulated GPU. N (5): how long it is watched doing nothing."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import attached
import e2e
import torch_runs
import torch_trace
from repeat_test import enabled_kinds

NAME = "armed-%d" % os.getpid()
FIRST_S = 0.1
CALLS_A_SECOND = 1.0


def worker_of(pid):
    """The worker thread."""
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/comm" % (pid, task), encoding="utf-8") as file:
            if file.read().strip() == "gpuprof":
                return int(task)
    return None


def cpu_ticks(pid, task):
    with open("/proc/%d/task/%d/stat" % (pid, task), encoding="utf-8") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return int(words[11]) + int(words[12])


def calls_of(task, seconds):
    """System calls that a thread made within so many seconds; None where nobody may watch."""
    if shutil.which("strace") is None:
        return None
    with tempfile.NamedTemporaryFile("r", prefix="gpuprof-strace-") as log:
        with subprocess.Popen(["strace", "-o", log.name, "-p", str(task)], stderr=subprocess.PIPE) as strace:
            output = strace.stderr.readline().decode()
            if "attached" not in output:
                strace.wait()
                return None
            time.sleep(seconds)
            strace.terminate()
        # Without the one it stood in and the one it stands in.
        return sum(") = " in row and "restart_syscall" not in row for row in log.read().splitlines())


def check_idle(checks, pid, log, seconds):
    """What it costs while nobody asks."""
    task = worker_of(pid)
    if not checks.expect(task, "the worker thread is there"):
        return
    footprint, most = attached.footprint(pid), max(1, CALLS_A_SECOND * seconds)
    # A `gpuprof status` of somebody else asks this process too.
    for _ in range(3):
        before = cpu_ticks(pid, task)
        calls = calls_of(task, seconds)
        if calls is None:
            time.sleep(seconds)
            checks.skip("no strace here, or it may not attach")
        used = cpu_ticks(pid, task) - before
        if calls is None or calls <= most or not e2e.ENFORCE_TIME:
            break
    # A signal of gpuprof would be a realtime one.
    realtime = footprint.caught >> 33
    print("armed for %g s: %s system calls of ours, %d ticks of processor time, realtime signals with a "
          "handler: %x" % (seconds, calls, used, realtime), flush=True)
    checks.equal(realtime, 0, "signals that are handled")
    checks.in_time(used <= 1, "the worker thread used %d ticks" % used)
    if calls is not None:
        checks.in_time(calls <= most, "%d system calls in %g s" % (calls, seconds))
    if log:
        on, switched = enabled_kinds(log) if os.path.exists(log) else (set(), 0)
        print("armed: CUPTI kinds that were switched on: %d" % switched, flush=True)
        checks.equal((on, switched), (set(), 0), "CUPTI kinds while armed")


def capture_in_a_capture(pid, folder, number):
    """What the inner one did, what the outer one did, which goes on until the inner one has ended."""
    for times in attached.LENGTH_FACTORS:
        command = attached.recording_for(times, ["capture"], pid, os.path.join(folder, "span-%d" % number))
        refused = attached.cli("capture", str(pid), "-d", "1s", "-o", os.path.join(folder, "refused"))
        meanwhile = not command.ended()
        recording = command.finish()
        if meanwhile:
            break
    return refused, recording


def capture(checks, pid, folder, device):
    """Two spans, one after the other, and a third that is refused."""
    spans, first = [], []
    for number in (1, 2):
        refused, recording = capture_in_a_capture(pid, folder, number)
        checks.equal((recording.status, len(recording.paths)), (0, 1), recording.stderr)
        checks.expect(refused.status == 125 and "already being recorded" in refused.stderr,
                      "a capture while one runs: %d: %s" % (refused.status, refused.stderr))
        trace = torch_trace.read_gpuprof(recording.paths)
        window = recording.summary["windows"][0]
        spans.append((window["start_ns"], window["end_ns"]))
        first.append(recording.first_operator_s())
        checks.expect(trace.operators and (device == "cpu" or trace.kernels),
                      "span %d: %d operators, %d kernels" % (number, len(trace.operators), len(trace.kernels)))
        print("span %d: %d operators, %d kernels, %d steps, the first operator %.0f ms after the start of gpuprof "
              "capture" % (number, len(trace.operators), len(trace.kernels), len(trace.steps), 1000 * first[-1]),
              flush=True)
    for _ in range(3):  # a busy machine
        if min(first) < FIRST_S or not e2e.ENFORCE_TIME:
            break
        first.append(attached.record(["capture", str(pid), "-d", "300ms"],
                                     os.path.join(folder, "again")).first_operator_s())
    checks.in_time(min(first) < FIRST_S, "first operators after %s s" % first)
    checks.expect(spans[0][1] <= spans[1][0], "two spans: %s" % spans)


def armed_pids():
    """Those of ours in which PyTorch has been seen."""
    return [pid for pid, row in attached.status_rows().items() if row["name"] == NAME and "torch" in row["can_record"]]


def run(checks, python, folder, device, seconds):
    log = os.path.join(folder, "calls.jsonl") if device != "cpu" else None
    command = [python, os.path.join(attached.PROGRAMS, "train.py"), folder, "--device", device, "--pause", "0.005"]
    if log:
        command = attached.on_gpu(command, "--log", log)
    env = attached.environment(**({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}))
    with attached.Program([e2e.GPUPROF, "run", "--armed", "--name", NAME, "--", *command], folder,
                          env=env) as program:
        attached.wait_until(armed_pids)
        pids = armed_pids()
        if not checks.equal(len(pids), 1, "armed processes with PyTorch: %s" % attached.status_rows()):
            return
        check_idle(checks, pids[0], log, seconds)
        capture(checks, pids[0], folder, device)
        if log:
            attached.wait_until(lambda: not enabled_kinds(log)[0], 60)
        idle_again = log and enabled_kinds(log)[0]
        checks.expect(not idle_again, "CUPTI kinds after the captures: %s" % idle_again)
        status = program.end()
    output = re.sub(r"\d+", "N", program.text())
    checks.equal((status, output, program.errors()), (0, "ready\ntrained N steps\n", ""), "its end")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    attached.require_attach()
    python = torch_runs.require_torch() if options.device == "cuda" else torch_runs.torch_python()
    checks = e2e.Checks()
    with e2e.Folder("armed") as folder:
        run(checks, python, folder, options.device, options.seconds)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
