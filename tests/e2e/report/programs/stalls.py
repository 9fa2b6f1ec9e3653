#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings whose time goes somewhere else than into their usual step. Prints, as one line of JSON, what its own clock
says: the whole program, the loop, each step, and what the spot took.

usage: stalls.py SPOT [--steps N] [--stall SECONDS] [--batches N]

  head        four stalls before the first operator of an iteration
  loader      four in the generator that makes batches
  middle      four between forward and backward pass
  tail        four after the optimizer
  gil         four times another thread holds Python's lock
  evaluate    an evaluation in every twelfth part of the iterations (of 6000 every 500), inside of the iteration
  checkpoint  torch.save in every sixth part
  epochs      three epochs; between them an evaluation, torch.save and a pause
  none        nothing of it

The line of a spot ends in `# spot: NAME`."""

import time

BEGAN_NS = time.perf_counter_ns()

import argparse
import ctypes
import io
import json
import threading

import torch
from torch import nn


class Clock:
    def __init__(self):
        self.step_ns, self.spot_ns = [], []
        self.loop_ns = 0

    def spot(self, began_ns):
        self.spot_ns.append(time.perf_counter_ns() - began_ns)


def batches(options, stalls, clock):
    values = torch.rand(16, 32)
    for number in range(options.steps):
        if number in stalls:
            began = time.perf_counter_ns()
            time.sleep(options.stall)  # spot: loader
            clock.spot(began)
        yield number, values


def evaluate(model, values):
    with torch.no_grad():
        total = 0.0
        for _ in range(BATCHES):
            total += float(model(values).square().mean())
    return total


def hold_lock(options, wake, done, clock):
    """A call of C that does not released the interpreter's lock."""
    usleep = ctypes.PyDLL(None).usleep
    while wake.acquire():
        if done.is_set():
            return
        began = time.perf_counter_ns()
        usleep(int(options.stall * 1e6))  # spot: gil
        clock.spot(began)


def update(model, optimizer, values):
    optimizer.zero_grad()
    model(values).square().mean().backward()
    optimizer.step()


def train(options, model, optimizer, clock):
    spot, stalls = options.spot, {options.steps * k // 5 + 3 for k in range(1, 5)}
    wake, done = threading.Semaphore(0), threading.Event()
    other = threading.Thread(target=hold_lock, args=(options, wake, done, clock))
    if spot == "gil":
        other.start()
    loader = batches(options, stalls if spot == "loader" else (), clock)
    last = time.perf_counter_ns()
    for number, values in loader:
        began = time.perf_counter_ns()
        if spot == "head" and number in stalls:
            time.sleep(options.stall)  # spot: head
            clock.spot(began)
        optimizer.zero_grad()
        loss = model(values).square().mean()
        if spot == "middle" and number in stalls:
            began = time.perf_counter_ns()
            time.sleep(options.stall)  # spot: middle
            clock.spot(began)
        loss.backward()
        optimizer.step()
        if spot == "tail" and number in stalls:
            began = time.perf_counter_ns()
            time.sleep(options.stall)  # spot: tail
            clock.spot(began)
        if spot == "gil" and number in stalls:
            wake.release()
        if spot == "evaluate" and (number + 1) % (options.steps // 12) == 0:
            began = time.perf_counter_ns()
            evaluate(model, values)  # spot: evaluate
            clock.spot(began)
        if spot == "checkpoint" and (number + 1) % (options.steps // 6) == 0:
            began = time.perf_counter_ns()
            torch.save(BALLAST, io.BytesIO())  # spot: checkpoint
            clock.spot(began)
        now = time.perf_counter_ns()
        clock.step_ns.append(now - last)
        last = now
    if spot == "gil":
        done.set()
        wake.release()
        other.join()


def epochs(options, model, optimizer, clock):
    values = torch.rand(16, 32)
    for epoch in range(3):
        last = time.perf_counter_ns()
        for _ in range(options.steps // 3):
            update(model, optimizer, values)
            now = time.perf_counter_ns()
            clock.step_ns.append(now - last)
            last = now
        began = time.perf_counter_ns()
        for _ in range(8):
            evaluate(model, values)  # spot: epochs
        clock.spot(began)
        torch.save(BALLAST, io.BytesIO())  # spot: epochs_save
        time.sleep(5 * options.stall)  # spot: epochs_pause


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spot")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--stall", type=float, default=0.06)
    parser.add_argument("--batches", type=int, default=150, help="of an evaluation")
    options = parser.parse_args()
    global BATCHES
    BATCHES = options.batches
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    clock = Clock()
    began = time.perf_counter_ns()
    (epochs if options.spot == "epochs" else train)(options, model, optimizer, clock)
    ended = time.perf_counter_ns()
    print(json.dumps({"wall_ns": ended - BEGAN_NS, "loop_ns": ended - began, "steps": len(clock.step_ns),
                      "steps_ns": sum(clock.step_ns), "first_ns": clock.step_ns[0], "spot_ns": clock.spot_ns}),
          flush=True)
    # The autograd thread releases the last graph after backward() has returned.
    time.sleep(0.2)


BALLAST, BATCHES = torch.rand(6_000_000), 150

if __name__ == "__main__":
    main()
