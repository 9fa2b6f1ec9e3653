#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What observing PyTorch's operators costs each of them, in CPU time of the thread that runs them.

A step of a small network (some 110 operators of about a microsecond: the worst case) is run in
batches with nothing, with a callback that does nothing, with ours at each level, and inside
torch.profiler, in turn, so that all see the same machine. Printed: medians of the differences to
the batch without anything beside them, their quartiles, and the difference of the quickest batches
(5 of 100), which is what remains on a machine that is busy with other things. torch.profiler's rows
leave out what it does when it stops.

usage: PYTHON operators_bench.py LIBRARY [--rounds N]    (LIBRARY: liboperators_harness.so)
"""

import argparse
import contextlib
import ctypes
import json
import os
import statistics
import tempfile
import time

import torch

SHAPES, STACK, MODULES = 1, 2, 4
STEPS, OPERATORS = 1, 2
WARM, BATCH = 3, 4


def network():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data, target = torch.randn(8, 32), torch.randint(0, 4, (8,))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(data), target).backward()
        optimizer.step()
    return step


class Observer:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.operators_dropped.restype = ctypes.c_ulong
        self.library.operators_own_ns.restype = ctypes.c_ulong
        self.own_ns = []

    @contextlib.contextmanager
    def ours(self, wanted, detail):
        self.library.operators_on(wanted, detail)
        yield
        self.library.operators_off()

    @contextlib.contextmanager
    def measured(self, wanted, detail):
        """The same while it measures itself (--max-overhead)."""
        self.library.operators_measure(1)
        before = self.library.operators_own_ns()
        with self.ours(wanted, detail):
            yield
        self.own_ns.append(self.library.operators_own_ns() - before)
        self.library.operators_measure(0)

    @contextlib.contextmanager
    def empty(self, inputs):
        self.library.operators_empty(1, inputs)
        yield
        self.library.operators_empty(0, 0)

    def operators_of(self, step):
        with tempfile.TemporaryDirectory() as folder, self.ours(OPERATORS, 0):
            self.library.operators_forget()
            step()
            path = os.path.join(folder, "operators")
            self.library.operators_write(path.encode())
            with open(path, encoding="utf-8") as file:
                return sum("name" in json.loads(line) for line in file)


def profiler(**options):
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options)


def levels(observer):
    ours = observer.ours
    return {
        "nothing": contextlib.nullcontext,
        "an empty callback": lambda: observer.empty(0),
        "an empty callback, inputs boxed": lambda: observer.empty(1),
        "steps (counting)": lambda: ours(STEPS, 0),
        "names": lambda: ours(OPERATORS, 0),
        "names, shapes": lambda: ours(OPERATORS, SHAPES),
        "names, stacks, modules": lambda: ours(OPERATORS, STACK | MODULES),
        "names, shapes, stacks, modules": lambda: ours(OPERATORS, SHAPES | STACK | MODULES),
        "the same, measuring itself": lambda: observer.measured(OPERATORS, SHAPES | STACK | MODULES),
        "torch.profiler": profiler,
        "torch.profiler, shapes, stacks": lambda: profiler(record_shapes=True, with_stack=True),
    }


def batch_ns(step):
    begin = time.thread_time_ns()
    for _ in range(BATCH):
        step()
    return (time.thread_time_ns() - begin) / BATCH


def quickest(times):
    return statistics.quantiles(times, n=20)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=60)
    args = parser.parse_args()
    observer, step = Observer(args.library), network()
    for _ in range(200):
        step()
    operators = observer.operators_of(step)
    times = {level: [] for level in levels(observer)}
    for _ in range(args.rounds):
        for level, context in levels(observer).items():
            observer.library.operators_forget()
            with context():
                for _ in range(WARM):
                    step()
                times[level].append(batch_ns(step))
    nothing = times["nothing"]
    print(f"PyTorch {torch.__version__}, {operators} operators a step of "
          f"{statistics.median(nothing) / 1000:.0f} us; {observer.library.operators_dropped()} "
          "records dropped; ns an operator:")
    for level, spent in times.items():
        more = [(with_it - without) / operators for with_it, without in zip(spent, nothing)]
        low, middle, high = statistics.quantiles(more, n=4)
        least = (quickest(spent) - quickest(nothing)) / operators
        print(f"{level:34}{middle:8.0f}   ({low:.0f} to {high:.0f}), quickest {least:.0f}")
    # Also of the steps that only warm.
    own = statistics.median(observer.own_ns) / (operators * (WARM + BATCH))
    print(f"what it measured of itself: {own:.0f} ns an operator, PyTorch's way to a callback included")


if __name__ == "__main__":
    main()
