#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A residual network trained on made-up pictures, with slow spots to be planted. Prints, as one line of JSON, what
its own timers say each planted spot takes of a step.

usage: residual.py [--device cpu|cuda] [--plant NAME[,NAME]] [--steps N] [--batch N] [--width N] [--fp32]

Spots: syncs, sleep, adds, clones, passes, loader, workers, tiny, pageable. The line of a spot ends in `# spot: NAME`."""

import argparse
import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Spots:
    """What the planted spots took in each step, and the steps."""

    def __init__(self):
        self.spent_ns = [{}]
        self.step_ns = []

    def add(self, name, begin_ns):
        self.spend(name, time.perf_counter_ns() - begin_ns)

    def spend(self, name, ns):
        self.spent_ns[-1][name] = self.spent_ns[-1].get(name, 0) + ns

    def step_ends(self, ns):
        self.step_ns.append(ns)
        self.spent_ns.append({})

    def shares_from(self, first):
        """Of the steps from this one on."""
        total = sum(self.step_ns[first:])
        names = {name for spent in self.spent_ns for name in spent}
        return {name: 100 * sum(spent.get(name, 0) for spent in self.spent_ns[first:]) / total for name in names}

    def told(self):
        """`share_from[n]`: without the first n steps. In the first one of all the loader starts."""
        count = len(self.step_ns)
        share = self.shares_from(0)
        share["loader"] = self.shares_from(1)["loader"]
        return {"steps": count, "step_ns": sum(self.step_ns) // count, "share": share,
                "share_from": [share] + [self.shares_from(first) for first in range(1, count // 2)]}


class Pictures(IterableDataset):
    """Batches of noise. `pause` seconds are lost over each one."""

    def __init__(self, count, batch, pause):
        self.count = count
        self.batch = batch
        self.pause = pause

    def __iter__(self):
        told = torch.utils.data.get_worker_info()
        parts, part = (told.num_workers, told.id) if told else (1, 0)
        pictures = torch.rand(self.batch, 3, 32, 32)
        labels = torch.arange(self.batch) % 10
        for _ in range(part, self.count, parts):
            if self.pause:
                time.sleep(self.pause)
            yield pictures, labels


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width)])

    def forward(self, x):
        inner = torch.relu(self.norms[0](self.first(x)))  # spot: first
        return torch.relu(self.norms[1](self.second(inner)) + x)  # spot: second


def make_model(width, blocks):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1, bias=False), *[Block(width) for _ in range(blocks)],
                         nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * width, 10))


def make_loader(options, plants):
    """Two workers that fetch ahead; a slow one in this process; or two that cannot keep up."""
    pause = options.pause if {"loader", "workers"} & plants else 0.0
    workers = 0 if "loader" in plants else 2
    return DataLoader(Pictures(options.steps, options.batch, pause), batch_size=None, num_workers=workers,
                      pin_memory=options.device == "cuda" and "pageable" not in plants,
                      prefetch_factor=4 if workers else None)


def train(options, plants, spots):
    device = torch.device(options.device)
    torch.manual_seed(1)
    model = make_model(options.width, options.blocks).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    big = torch.rand(1000, 1000, device=device)
    small = torch.rand(16, device=device)
    loss_sum = 0.0
    half = options.device == "cuda" and not options.fp32
    blocking = "pageable" in plants
    began = time.perf_counter_ns()
    for number, (pictures, labels) in enumerate(make_loader(options, plants)):  # spot: batches
        if number:
            loading = time.perf_counter_ns() - ended
            spots.spend("loader", loading)
        begin = time.perf_counter_ns()
        pictures = pictures.to(device, non_blocking=not blocking)  # spot: pageable
        spots.add("pageable", begin)
        labels = labels.to(device, non_blocking=not blocking)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=half):
            outputs = model(pictures)
            loss = nn.functional.cross_entropy(outputs, labels)
        if "passes" in plants and number % 3 == 0:
            begin = time.perf_counter_ns()
            part = nn.functional.cross_entropy(model(pictures[:options.batch // 2]), labels[:options.batch // 2])
            part.backward(retain_graph=True)  # spot: passes
            spots.add("passes", begin)
        loss.backward()
        optimizer.step()
        if "syncs" in plants:
            begin = time.perf_counter_ns()
            loss_sum += loss.item()  # spot: item1
            spots.add("item1", begin)
            begin = time.perf_counter_ns()
            best = outputs.max().item()  # spot: item2
            spots.add("item2", begin)
            begin = time.perf_counter_ns()
            mean = outputs.mean().item()  # spot: item3
            spots.add("item3", begin)
        if "sleep" in plants:
            begin = time.perf_counter_ns()
            time.sleep(0.001)  # spot: sleep
            spots.add("sleep", begin)
        if "adds" in plants:
            begin = time.perf_counter_ns()
            for _ in range(5):
                again = big + big  # spot: adds
            spots.add("adds", begin)
        if "clones" in plants:
            begin = time.perf_counter_ns()
            kept = []
            for _ in range(10):
                kept.append(big.clone())  # spot: clones
            kept.clear()
            spots.add("clones", begin)
        if "tiny" in plants:
            begin = time.perf_counter_ns()
            for _ in range(100):
                small = small * 1.0001  # spot: tiny
            spots.add("tiny", begin)
        ended = time.perf_counter_ns()
        spots.step_ends(ended - began)
        began = ended


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--plant", default="")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.02)
    parser.add_argument("--fp32", action="store_true")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("residual.py: PyTorch finds no GPU")
    torch.set_num_threads(1)
    spots = Spots()
    train(options, set(filter(None, options.plant.split(","))), spots)
    if options.device == "cuda":
        torch.cuda.synchronize()
    print(json.dumps(spots.told()), flush=True)


if __name__ == "__main__":
    main()
