# SPDX-License-Identifier: Apache-2.0
"""Three steps of a small convolutional net under torch.profiler: profiled.py TRACE"""

import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(2048, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
images, labels = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))


def train():
    with record_function("the loss"):
        loss = nn.functional.cross_entropy(net(images), labels)  # the call that the test looks for
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True,
             profile_memory=True, schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
             on_trace_ready=lambda done: done.export_chrome_trace(sys.argv[1])) as profiler:
    for _ in range(4):
        train()
        profiler.step()
