# SPDX-License-Identifier: Apache-2.0
"""Run by embeds.cpp: a training of 24 steps. Tells its losses on stdout, and in the file that TOLD
names two moments of each step (CLOCK_MONOTONIC, ns): before it, after its forward."""

import os
import time

import torch
from torch import nn

STEPS = 24


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def train():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net, moments = Net(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
    for _ in range(STEPS):
        before = time.monotonic_ns()
        loss = nn.functional.cross_entropy(net(x), y)
        moments.append((before, time.monotonic_ns()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.01)
    print("%.6f" % loss.item(), flush=True)
    with open(os.environ["TOLD"], "w", encoding="utf-8") as file:
        for moment in moments:
            print(*moment, file=file)


train()
