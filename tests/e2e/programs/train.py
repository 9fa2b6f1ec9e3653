#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training that docs/pytorch.md profiles: on a GPU if there is one, of several ranks under torchrun.
No profiler, no marks.

usage: train.py [--epochs N]
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.head = nn.Linear(128, 10)

    def forward(self, points):
        return self.head(self.body(points))


def evaluate(model, loader, device):
    with torch.no_grad():
        return sum(model(points.to(device)).argmax(1).eq(labels.to(device)).sum()
                   for points, labels in loader)


def train(model, loader, device, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for points, labels in loader:
            loss = nn.functional.cross_entropy(model(points.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        evaluate(model, loader, device)
        print(f"epoch {epoch + 1} done", flush=True)


def main(epochs):
    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu",
                          int(os.environ.get("LOCAL_RANK", 0)) if torch.cuda.is_available() else 0)
    model = Classifier().to(device)
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        model = nn.parallel.DistributedDataParallel(model)
    data = TensorDataset(torch.randn(960, 64), torch.randint(0, 10, (960,)))
    train(model, DataLoader(data, batch_size=32, shuffle=True), device, epochs)
    if "RANK" in os.environ:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    main(parser.parse_args().epochs)
