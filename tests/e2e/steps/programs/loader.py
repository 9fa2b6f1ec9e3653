# SPDX-License-Identifier: Apache-2.0
"""A DataLoader: every epoch ends with a fetch that finds nothing.

usage: loader.py [--workers N] [--epochs N] [--evaluate] [--batches N]"""

import argparse

import torch
from torch.utils.data import DataLoader

import parts
import truth


def evaluate(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    model.train()
    return right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--evaluate", action="store_true")
    options = parser.parse_args()
    loader = DataLoader(parts.Points(8 * options.batches), batch_size=8,
                        num_workers=options.workers)
    validation = DataLoader(parts.Points(8 * 7), batch_size=8)
    model = parts.mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(options.epochs):
        for x, y in loader:
            with truth.step:
                optimizer.zero_grad()
                loss = parts.loss_of(model(x), y)
                loss.backward()
                optimizer.step()
        if options.evaluate:
            evaluate(model, validation)


if __name__ == "__main__":
    main()
