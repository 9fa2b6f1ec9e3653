# SPDX-License-Identifier: Apache-2.0
"""A training of operators of a microsecond each, for some seconds."""

import sys
import time

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data, target = torch.randn(8, 32), torch.randint(0, 4, (8,))


def step():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(data), target).backward()
    optimizer.step()


for _ in range(100):
    step()
steps, begin, cpu = 0, time.monotonic(), time.thread_time_ns()
while time.monotonic() < begin + float(sys.argv[1]):
    step()
    steps += 1
print((time.thread_time_ns() - cpu) / steps)
