# SPDX-License-Identifier: Apache-2.0
"""A training that uses torch.profiler itself, as many do.

usage: own_profiler.py FOLDER PLAN
PLAN: phases separated by commas, each `train:SECONDS` or `profile:SECONDS`.
Writes FOLDER/phases.json and FOLDER/session.N.json, PyTorch's trace of the Nth profiled phase. All
times are CLOCK_MONOTONIC: `asked_ns` before the phase's first call, `begin_ns` to `end_ns` all work
of the phase was enqueued, `over_ns` after its last call."""

import json
import os
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


class Training:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            x = torch.randn(32, 64).cuda()
            loss = self.model(x).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.005)
        torch.cuda.synchronize()


def phase(training, what, seconds, path):
    told = {"what": what, "asked_ns": time.monotonic_ns()}
    profiler = None
    if what == "profile":
        profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        profiler.start()
        torch.cuda.synchronize()
    told["begin_ns"] = time.monotonic_ns()
    training.train(seconds)
    told["end_ns"] = time.monotonic_ns()
    if profiler:
        profiler.stop()
        told["over_ns"] = time.monotonic_ns()
        profiler.export_chrome_trace(path)
        told["trace"] = path
    else:
        told["over_ns"] = time.monotonic_ns()
    print("%s done" % what, flush=True)
    return told


def main():
    folder, plan = sys.argv[1:]
    training = Training()
    phases = []
    for number, text in enumerate(plan.split(",")):
        what, seconds = text.split(":")
        phases.append(phase(training, what, float(seconds),
                            os.path.join(folder, "session.%d.json" % number)))
    with open(os.path.join(folder, "phases.json"), "w", encoding="utf-8") as file:
        json.dump(phases, file)


if __name__ == "__main__":
    main()
