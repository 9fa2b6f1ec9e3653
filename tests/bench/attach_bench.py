#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the library costs a PyTorch training in whose process it only waits, or from which it was taken out.

Two processes of one program take turns, a window of steps each, so that what else happens on the machine
happens to both; printed is the median of the ratios with quartiles:

  detached  before `gpuprof attach` of one of them, and after it has detached: attach and detach were in between
  control   the same with two seconds of work in between instead: what the machine does by itself
  released  one of them under `gpuprof run --armed` until `gpuprof detach` takes the library out: by how much
            less a step takes then is what waiting cost, in one process, which two processes do not tell so well
  armed     one of them under `gpuprof run --armed`; besides the same with two plain ones, which says how much
            two processes differ that are the same. Of several pairs of processes

usage: attach_bench.py GPUPROF PYTHON [--only detached,control,released,armed] [--windows N] [--steps N] [--processes N]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

WARM = 100


def steps():
    """The program: reads how many steps to make, answers with their median wall and CPU time in ns."""
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(32, 64)
    for line in sys.stdin:
        took, used = [], []
        for _ in range(int(line)):
            began, spent = time.perf_counter_ns(), time.thread_time_ns()
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            used.append(time.thread_time_ns() - spent)
            took.append(time.perf_counter_ns() - began)
        print(statistics.median(took), statistics.median(used), os.getpid(), flush=True)


class Training:
    """A process that makes steps when it is asked to."""

    def __init__(self, options, *prefix):
        self.options = options
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")
        self.process = subprocess.Popen([*prefix, options.python, os.path.abspath(__file__), "--program"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.pid = 0
        self.window(WARM)

    def window(self, count=None):
        self.process.stdin.write("%d\n" % (count or self.options.steps))
        self.process.stdin.flush()
        wall, used, pid = self.process.stdout.readline().split()
        self.pid = int(pid)
        return float(wall), float(used)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def ratios(one, other, count):
    """Of so many pairs of windows, each pair in the other order than the one before: [(wall, CPU)]."""
    found = []
    for number in range(count):
        if number % 2:
            second, first = other.window(), one.window()
        else:
            first, second = one.window(), other.window()
        found.append([a / b for a, b in zip(first, second)])
    return found


def row(name, found):
    """Prints both; returns the medians."""
    middles = []
    for what, values in zip(("wall", "CPU"), zip(*found)):
        low, middle, high = statistics.quantiles(values, n=4)
        middles.append(middle)
        print("%-42s %-4s %+6.2f %%   quartiles %+6.2f %% to %+6.2f %%, %d pairs" % (
            name, what, 100 * middle - 100, 100 * low - 100, 100 * high - 100, len(values)), flush=True)
    return middles


def around(options, between, name, *prefix):
    """What `between(training, folder)` changes for good."""
    with Training(options, *prefix) as one, Training(options) as other, tempfile.TemporaryDirectory() as folder:
        before = row("before %s, against a plain one" % name, ratios(one, other, options.windows))
        between(one, folder)
        after = row("after it", ratios(one, other, options.windows))
    print("%s: from then on a step takes %+.2f %% of wall and %+.2f %% of CPU time more than before" % (
        name, *(100 * (a / b - 1) for a, b in zip(after, before))), flush=True)


def detached(options):
    def attach(training, folder):
        command = subprocess.Popen([options.gpuprof, "attach", "-q", "-f", "-d", "1s", "-o", folder,
                                    str(training.pid)], stdout=subprocess.DEVNULL)
        while command.poll() is None:
            training.window()
        if command.returncode != 0:
            sys.exit("gpuprof attach gave %d" % command.returncode)

    around(options, attach, "attach and detach")


def control(options):
    def work(training, _):
        until = time.monotonic() + 2
        while time.monotonic() < until:
            training.window()

    around(options, work, "two seconds of work")


def released(options):
    def armed_until_detached(training, _):
        subprocess.run([options.gpuprof, "detach", str(training.pid)], check=True)

    around(options, armed_until_detached, "armed until `gpuprof detach`", options.gpuprof, "run", "--armed", "--")


def armed(options):
    found = {"armed, against a plain one": [], "plain, against a plain one": []}
    for _ in range(options.processes):
        for name, prefix in zip(found, ([options.gpuprof, "run", "--armed", "--"], [])):
            with Training(options, *prefix) as one, Training(options) as other:
                pairs = ratios(one, other, options.windows)
                found[name].append([statistics.median(values) for values in zip(*pairs)])
    for name, all_ in found.items():
        row(name + ", processes", all_)


def main():
    if sys.argv[1:] == ["--program"]:
        steps()
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gpuprof")
    parser.add_argument("python")
    parser.add_argument("--only", default="detached,control,released,armed")
    parser.add_argument("--windows", type=int, default=300)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--processes", type=int, default=20)
    options = parser.parse_args()
    for name in options.only.split(","):
        {"detached": detached, "control": control, "released": released, "armed": armed}[name](options)


if __name__ == "__main__":
    main()
