# SPDX-License-Identifier: Apache-2.0
"""Rows of the cost table that compare whole processes: the library present and idle, memory that it takes."""

import json
import os
import resource
import statistics
import subprocess
import time

import windows
from figures import Row

EMPTY = "int gpuprof_bench_empty;\n"
BUILTIN_LOOP = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
SHELL_LOOP = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"


def empty_library(place):
    """A preloaded library that does nothing, which is what any preload costs."""
    path = place.path("libempty.so")
    if not os.path.exists(path):
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=EMPTY, text=True, check=True)
    return path


def seconds(command, preload):
    """Wall time of a command and the CPU time of all its processes."""
    env = dict(os.environ)
    env.pop("LD_PRELOAD", None)
    if preload:
        env["LD_PRELOAD"] = preload
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interleaved(command, preloads, times):
    """One list of wall times for each of `preloads`, run in turn."""
    walls = [[] for _ in preloads]
    for i in range(times + 1):
        for j, preload in enumerate(preloads):
            wall, _ = seconds(command, preload)
            if i:  # the first of each only warms
                walls[j].append(wall)
    return walls


def dormant(place, times):
    """The library in LD_PRELOAD, nothing asked of it."""
    library, empty = os.path.join(place.build, "lib", "libgpuprof_inject.so"), empty_library(place)
    plain, with_us, with_none = interleaved(["sh", "-c", SHELL_LOOP], (None, library, empty), times)
    per_start = [(one - other) / 301 * 1e6 for one, other in zip(with_us, plain)]
    yield Row("/bin/true, preloaded and dormant: a start more", "<= 100 us", per_start, "us", 100)
    yield Row("  beside it: an empty preloaded library", "",
              [(one - other) / 301 * 1e6 for one, other in zip(with_none, plain)], "us")
    plain, with_us = interleaved(["sh", "-c", BUILTIN_LOOP], (None, library), times)
    yield Row("a shell loop of builtins, preloaded and dormant", "<= 1.01", [a / b for a, b in zip(with_us, plain)], most=1.01)
    start = [place.python, "-c", "pass"]
    plain, with_us, with_none = interleaved(start, (None, library, empty), 3 * times)
    yield Row("python -c pass, preloaded and dormant", "<= 1.01", [a / b for a, b in zip(with_us, plain)], most=1.01)
    yield Row("  beside it: an empty preloaded library", "", [a / b for a, b in zip(with_none, plain)])


def step_ns(place, command, path):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=300, env=place.environment())
    with open(path, encoding="utf-8") as file:
        written = json.load(file)
    steps = [b - a for a, b in zip(written["began_ns"], written["began_ns"][1:])]
    return statistics.median(steps), written


def armed(place, times):
    """Whole processes in turn, since the library cannot be taken out of one: the spread says what that is worth."""
    path = place.path("times.json")
    for model, steps in (("mlp", 15000), ("transformer", 100)):
        ratios = []
        for _ in range(times):
            plain, _ = step_ns(place, place.training(model, "cpu", path, "--steps", str(steps)), path)
            idle, _ = step_ns(place, [place.gpuprof, "run", "-q", "--armed", "--"] +
                              place.training(model, "cpu", path, "--steps", str(steps)), path)
            ratios.append(idle / plain)
        yield Row("a training step, armed, %s" % model, "<= 1.01", ratios, most=1.01)


def with_memory(place, times):
    """Operators with memory of the CPU: needs the recording from the program's start, so whole processes."""
    path, summary = place.path("times.json"), place.path("summary.json")
    for model, steps, goal in (("mlp", 15000, 1.35), ("conv", 300, 1.03), ("transformer", 100, 1.03)):
        row = Row("operators: + shapes, stacks, modules, memory, whole runs, %s" % model, "<= %.2f" % goal, [],
                  most=goal, expected=0, recorded=0, dropped=0)
        for _ in range(times):
            plain, written = step_ns(place, place.training(model, "cpu", path, "--steps", str(steps)), path)
            ours, _ = step_ns(place, [place.gpuprof, "run", "-q", "-f", "-o", place.path("traces"), "--summary-json",
                                      summary, "--max-overhead", "off", "-t", "torch", "--"] +
                              place.training(model, "cpu", path, "--steps", str(steps)), path)
            with open(summary, encoding="utf-8") as file:
                told = json.load(file)
            row.recorded += told["events_by_kind"].get("operators", 0)
            row.add_drops(told["drops_by_reason"])
            row.expected += written.get("operators", 0) * (steps + 30)
            row.values.append(ours / plain)
            subprocess.run(["rm", "-rf", place.path("traces")], check=True)
        yield row


def memory(place, times):
    """The peak of a process that records about a million operators, beyond that of one that records nothing."""
    path = place.path("times.json")
    peers = []
    row = Row("a target's memory, everything on, 1 M operators (peak, shared memory in it)", "<= 64 MiB", [], "MiB", 64,
              recorded=0, dropped=0)
    for _ in range(max(3, times // 7)):
        _, plain = step_ns(place, place.training("mlp", "cpu", path, "--steps", "9000"), path)
        summary = place.path("summary.json")
        _, with_us = step_ns(place, [place.gpuprof, "run", "-q", "-f", "-o", place.path("traces"), "--summary-json",
                                     summary, "--max-overhead", "off", "--"] +
                             place.training("mlp", "cpu", path, "--steps", "9000"), path)
        with open(summary, encoding="utf-8") as file:
            told = json.load(file)
        row.recorded += told["events_by_kind"].get("operators", 0)
        row.add_drops(told["drops_by_reason"])
        row.values.append((with_us["peak_bytes"] - plain["peak_bytes"]) / 2 ** 20)
        subprocess.run(["rm", "-rf", place.path("traces")], check=True)
    row.expected = 9030 * 110 * len(row.values)
    yield row
    for _ in range(2):
        _, plain = step_ns(place, place.training("mlp", "cpu", path, "--steps", "9000"), path)
        _, peer = step_ns(place, place.training("mlp", "cpu", path, "--steps", "9000", "--whole", "all"), path)
        peers.append((peer["peak_bytes"] - plain["peak_bytes"]) / 2 ** 20)
    yield Row("  beside it: torch.profiler with the same contents", "", peers, "MiB")
