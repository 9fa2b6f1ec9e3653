#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small, ordinary PyTorch training on the CPU: no profiler, no marks, about ten seconds.

usage: train_cpu.py [--steps N] [--workers N]
Prints the same lines at every run.
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    """Ten clouds of points; sample i is the same at every run."""

    def __init__(self, count, features):
        draw = torch.Generator().manual_seed(7)
        self.labels = torch.randint(0, 10, (count,), generator=draw)
        centres = torch.randn(10, features, generator=draw)
        self.points = centres[self.labels] + 6.0 * torch.randn(count, features, generator=draw)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        point = self.points[index]
        return (point - point.mean()) / (point.std() + 1e-6), self.labels[index]


class Classifier(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 1024), nn.ReLU(),
                                  nn.Linear(1024, 1024), nn.ReLU())
        self.head = nn.Linear(1024, 10)

    def forward(self, batch):
        return self.head(self.body(batch))


def train(steps, workers):
    torch.manual_seed(1)
    torch.set_num_threads(2)
    data = Blobs(count=256 * 64, features=256)
    loader = DataLoader(data, batch_size=256, shuffle=True, num_workers=workers, drop_last=True,
                        generator=torch.Generator().manual_seed(3))
    model = Classifier(features=256)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    done = 0
    while done < steps:
        for batch, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch), labels)
            loss.backward()
            optimizer.step()
            done += 1
            if done % 50 == 0:
                # One decimal: the later ones may differ between processors.
                print(f"step {done}: loss {loss.item():.1f}", flush=True)
            if done == steps:
                break
    print(f"trained {done} steps")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--workers", type=int, default=0, help="processes that load the data")
    options = parser.parse_args()
    train(options.steps, options.workers)
