# SPDX-License-Identifier: Apache-2.0
"""Trains on the GPU from a loader that pins memory: PyTorch's own threads run operators.

Prints `role thread-id` lines: main, pins, backward."""

import os
import threading

import torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return torch.tanh(self.linear(x)) + x


def threads_by_name():
    found = {}
    for tid in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % tid, encoding="utf-8") as file:
            found[file.read().strip()] = int(tid)
    return found


def main():
    data = torch.utils.data.TensorDataset(torch.randn(96, 16), torch.randint(0, 4, (96,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=1, pin_memory=True)
    model = nn.Sequential(Block(), Block(), nn.Linear(16, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pins = None
    for x, y in loader:
        for thread in threading.enumerate():
            if "pin_memory" in thread.name:
                pins = thread.native_id
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.cuda(non_blocking=True)), y.cuda())
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print("main", threading.get_native_id())
    print("pins", pins)
    print("backward", threads_by_name().get("pt_autograd_0"))


if __name__ == "__main__":
    main()
