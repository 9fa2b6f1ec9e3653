#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a training step of a transformer costs under gpuprof, and how long its end takes.

The same program runs in turn without a profiler, under gpuprof that only counts steps, under gpuprof
that records all of it with every option of PyTorch, and with torch.profiler that records the same.
Printed: the median step of each run as a ratio to the plain run of the same round (median of the
rounds, their quartiles), in wall and in CPU time of the training thread; and how long the end took:
from the last step to the return of the command with its file written. And, since two runs of a
program differ by more than that, the steps inside and outside the windows of one run: ten steps are
recorded, ten only counted, in turn.

usage: torch_steps_bench.py GPUPROF PYTHON [--rounds N] [--steps N]
"""

import argparse
import contextlib
import glob
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WARM = 8
MODES = ("plain", "counting", "recording", "torch.profiler")
RECORDING = ["--record-shapes", "--with-stack", "--with-modules", "--profile-memory"]


def train(steps, profiled, folder):
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, dropout=0.1)
    model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2), torch.nn.Linear(256, 64))
    optimizer = torch.optim.Adam(model.parameters())
    data, target = torch.randn(4, 32, 256), torch.randn(4, 32, 64)
    profiler = torch.profiler.profile(record_shapes=True, with_stack=True, with_modules=True,
                                      profile_memory=True) if profiled else contextlib.nullcontext()
    wall, cpu = [], []
    with profiler:
        for _ in range(WARM + steps):
            began, used = time.perf_counter(), time.thread_time()
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(data), target).backward()
            optimizer.step()
            wall.append(time.perf_counter() - began)
            cpu.append(time.thread_time() - used)
        ended = time.time()
    if profiled:
        profiler.export_chrome_trace(os.path.join(folder, "trace.json.gz"))
    print("STEPS", *wall)
    print("RESULT", statistics.median(wall[WARM:]), statistics.median(cpu[WARM:]), ended)


def run(mode, options):
    with tempfile.TemporaryDirectory() as folder:
        command = [options.python, os.path.abspath(__file__), "--train", str(options.steps), mode, folder]
        gpuprof = [options.gpuprof, "run", "-q", "-o", folder]
        if mode == "counting":
            command = gpuprof + ["--wait", "1000000", "--warmup", "0", "--active", "1", "--"] + command
        elif mode == "recording":
            command = gpuprof + RECORDING + ["--"] + command
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        returned = time.time()
        line = [text for text in done.stdout.splitlines() if text.startswith("RESULT ")]
        if not line:
            sys.exit("%s: status %d\n%s" % (mode, done.returncode, done.stderr))
        wall, cpu, ended = map(float, line[0].split()[1:])
        return wall, cpu, returned - ended


def recorded_steps(folder):
    """Numbers of the steps that the files of a run hold."""
    for path in glob.glob(os.path.join(folder, "*.pt.trace.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for event in json.load(file)["traceEvents"]:
                if event.get("name", "").startswith("ProfilerStep#"):
                    yield int(event["name"].split("#")[1])


def alternate(options):
    """Of each window of a run, its median step to those of the ten steps before and behind it."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [options.gpuprof, "run", "-q", "-o", folder, *RECORDING, "--wait", "10", "--warmup", "0",
             "--active", "10", "--repeat", "0", "--", options.python, os.path.abspath(__file__),
             "--train", "400", "alternating", folder], capture_output=True, text=True, check=False)
        line = [text for text in done.stdout.splitlines() if text.startswith("STEPS ")]
        inside = set(recorded_steps(folder))
    if not line or len(inside) < 100:
        sys.exit("alternating: status %d, %d steps recorded\n%s" % (done.returncode, len(inside), done.stderr))
    steps = [float(text) for text in line[0].split()[1:]]
    ratios = []
    for first in sorted(i for i in inside if i - 1 not in inside):
        window, around = range(first, first + 10), [*range(first - 10, first), *range(first + 10, first + 20)]
        if first < 60 or around[-1] >= len(steps) or not inside.issuperset(window) \
                or not inside.isdisjoint(around):
            continue
        # The first step of each does what switches.
        before, within, behind = (statistics.median(steps[i + 1:i + 10]) for i in (first - 10, first, first + 10))
        ratios.append(2 * within / (before + behind))
    return ratios


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return "%.3f (%.3f to %.3f)" % (middle, low, high)


def main():
    if sys.argv[1:2] == ["--train"]:
        return train(int(sys.argv[2]), sys.argv[3] == "torch.profiler", sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gpuprof")
    parser.add_argument("python")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    rounds = [{mode: run(mode, options) for mode in MODES} for _ in range(options.rounds)]
    plain = statistics.median(one["plain"][0] for one in rounds) * 1e3
    print("plain: a step of %.2f ms, %d steps, %d rounds" % (plain, options.steps, options.rounds))
    for mode in MODES[1:]:
        ratios = [[one[mode][i] / one["plain"][i] for one in rounds] for i in (0, 1)]
        ends = [one[mode][2] - one["plain"][2] for one in rounds]
        print("%-15s wall %s  CPU %s  end + %s s" % (mode, *map(spread, ratios), spread(ends)))
    ratios = [ratio for _ in range(options.rounds) for ratio in alternate(options)]
    print("recorded to counted steps of one run: %s, %d windows" % (spread(ratios), len(ratios)))
    return None


if __name__ == "__main__":
    main()
