#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small trainings with what goes wrong in few programs. Prints, as one line of JSON, what its own timers say the spot
takes of a step.

usage: rare.py SPOT [--clean] [--device cpu|cuda] [--steps N]

  compile    the first step compiles the model (torch.compile)
  starve     threads that compute besides take the processors from the one that trains
  memory     almost all memory of the GPU is taken
  parallel   DataParallel over all GPUs

--clean: the same training without that. The line of a spot ends in `# spot: NAME`."""

import argparse
import json
import os
import threading
import time

import torch
from torch import nn


def network(width, layers):
    return nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers)])


def tell(step_ns, spot_ns, of):
    print(json.dumps({"steps": len(step_ns), "step_ns": sum(step_ns) // len(step_ns),
                      "share": {"spot": 100 * spot_ns / of}}), flush=True)


def step(model, optimizer, values):
    """Seconds of the forward pass."""
    optimizer.zero_grad()
    begin = time.perf_counter_ns()
    outputs = model(values)  # spot: forward
    spent_ns = time.perf_counter_ns() - begin
    outputs.sum().backward()
    optimizer.step()
    return spent_ns


def compile_first(options):
    model = network(256, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = torch.rand(512, 256)
    # Its front end alone: no compiler of the machine's is needed.
    run = model if options.clean else torch.compile(model, backend="aot_eager")
    step_ns, forward_ns, began = [], [], time.perf_counter_ns()
    for _ in range(options.steps):
        forward_ns.append(step(run, optimizer, values))
        step_ns.append(time.perf_counter_ns() - began)
        began += step_ns[-1]
    tell(step_ns, forward_ns[0] - sorted(forward_ns)[options.steps // 2], step_ns[0])


def compute(stop):
    product = torch.rand(1000, 1000)
    while not stop.is_set():
        torch.mm(product, product)


def starve(options):
    stop = threading.Event()
    busy = 0 if options.clean else 4 * len(os.sched_getaffinity(0))
    others = [threading.Thread(target=compute, args=(stop,)) for _ in range(busy)]
    model = network(256, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = torch.rand(512, 256)
    for other in others:
        other.start()
    step_ns, cpu_ns, began = [], time.thread_time_ns(), time.perf_counter_ns()
    while sum(step_ns) < 5e9:  # spot: starved
        step(model, optimizer, values)
        step_ns.append(time.perf_counter_ns() - began)
        began += step_ns[-1]
    cpu_ns = time.thread_time_ns() - cpu_ns
    stop.set()
    for other in others:
        other.join()
    tell(step_ns, sum(step_ns) - cpu_ns, sum(step_ns))


def memory(options):
    model = network(512, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = torch.rand(512, 512, device="cuda")
    size = torch.cuda.get_device_properties(0).total_memory
    kept, step_ns, began = [], [], time.perf_counter_ns()
    for number in range(options.steps):
        if number == 2 and not options.clean:
            kept.append(torch.empty(int(0.92 * size), dtype=torch.uint8, device="cuda"))  # spot: taken
        step(model, optimizer, values)
        torch.cuda.synchronize()
        step_ns.append(time.perf_counter_ns() - began)
        began += step_ns[-1]
    tell(step_ns, torch.cuda.max_memory_allocated(), size)


def parallel(options):
    model = network(256, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = torch.rand(512, 256, device="cuda")
    run = model if options.clean else nn.DataParallel(model)
    step_ns, spent_ns, began = [], 0, time.perf_counter_ns()
    for _ in range(options.steps):
        spent_ns += step(run, optimizer, values)
        step_ns.append(time.perf_counter_ns() - began)
        began += step_ns[-1]
    torch.cuda.synchronize()
    tell(step_ns, spent_ns, sum(step_ns))


SPOTS = {"compile": compile_first, "starve": starve, "memory": memory, "parallel": parallel}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spot", choices=SPOTS)
    parser.add_argument("--clean", action="store_true")
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    SPOTS[options.spot](options)
    # The autograd thread releases the last graph after backward() has returned. Where that falls into Python's end,
    # PyTorch's thread ends by pthread_exit in a destructor, and the process by std::terminate.
    time.sleep(0.2)


if __name__ == "__main__":
    main()
