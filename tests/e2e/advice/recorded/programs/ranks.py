#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ranks that average gradients over gloo; with --slow N the last one computes N products more a step than the
others. That rank prints, as one line of JSON, what its own timer says they take of a step. Started by torchrun.

usage: ranks.py [--slow N] [--steps N]"""

import argparse
import json
import time

import torch
import torch.distributed as dist
from torch import nn


def train(options, rank):
    torch.manual_seed(rank)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8))
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    extra = torch.rand(256, 256)
    values, kinds = torch.rand(512, 256), torch.arange(512) % 8
    products = options.slow if rank == dist.get_world_size() - 1 else 0
    spent_ns, begin = 0, time.perf_counter_ns()
    for _ in range(options.steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(values), kinds)
        since = time.perf_counter_ns()
        for _ in range(products):
            extra = torch.tanh(extra @ extra)  # spot: slow
        spent_ns += time.perf_counter_ns() - since
        loss.backward()
        optimizer.step()
    if products:
        total = time.perf_counter_ns() - begin
        print(json.dumps({"steps": options.steps, "step_ns": total // options.steps,
                          "share": {"slow": 100 * spent_ns / total}}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", type=int, default=0)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(options, dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
