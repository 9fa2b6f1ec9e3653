#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small, ordinary PyTorch training on a GPU: a convolutional network, data loaded by worker
processes, mixed precision. No profiler, no marks, and it asks only whether there is a GPU.

usage: train_gpu.py [--steps N] [--batch N] [--workers N]
"""

import argparse
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    """Coloured squares in ten classes; sample i is the same at every run."""

    def __init__(self, count, size):
        self.count = count
        self.size = size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        draw = torch.Generator().manual_seed(index)
        picture = torch.randn(3, self.size, self.size, generator=draw)
        label = index % 10
        picture[label % 3, label:label + 8, label:label + 8] += 3.0
        return (picture - picture.mean()) / (picture.std() + 1e-6), label


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, channels_in, channels_out, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True),
            nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False),
            nn.BatchNorm2d(channels_out))
        self.around = nn.Conv2d(channels_in, channels_out, 1, stride, bias=False)

    def forward(self, pictures):
        return torch.relu(self.body(pictures) + self.around(pictures))


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
        Block(32, 64, 2), Block(64, 128, 2), Block(128, 256, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))


def train(steps, batch, workers):
    device = torch.device("cuda")
    torch.manual_seed(1)
    loader = DataLoader(Pictures(count=batch * 50, size=32), batch_size=batch, shuffle=True,
                        num_workers=workers, pin_memory=True, drop_last=True,
                        persistent_workers=workers > 0)
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=50, gamma=0.5)
    scaler = torch.amp.GradScaler("cuda")
    done = 0
    while done < steps:
        for pictures, labels in loader:
            pictures = pictures.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(pictures), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            done += 1
            if done % 50 == 0:
                print(f"step {done}: loss {loss.item():.2f}", flush=True)
            if done == steps:
                break
    torch.cuda.synchronize()
    print(f"trained {done} steps on {torch.cuda.get_device_name()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2, help="processes that load the data")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("train_gpu.py: PyTorch finds no GPU")
    train(options.steps, options.batch, options.workers)
