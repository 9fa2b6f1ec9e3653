# SPDX-License-Identifier: Apache-2.0
"""A small perceptron: data loader workers, pinned copies, SGD, then AdamW."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(model, optimizer, loader, steps, label):
    batches = iter(loader)
    for step in range(steps):
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)
        x = x.to("cuda", non_blocking=True)
        y = y.to("cuda", non_blocking=True)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print("%s step %d loss %.4f" % (label, step, loss.item()), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(2048, 256), torch.randint(0, 10, (2048,)))
    loader = DataLoader(data, batch_size=64, num_workers=2, pin_memory=True, shuffle=True)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                          nn.Linear(512, 10)).cuda()
    train(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), loader, steps, "sgd")
    train(model, torch.optim.AdamW(model.parameters(), lr=1e-3), loader, steps, "adamw")


if __name__ == "__main__":
    main()
