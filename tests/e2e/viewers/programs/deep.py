# SPDX-License-Identifier: Apache-2.0
"""Ranges inside 400, NVTX ranges inside 1000 and modules inside 60 others."""

import contextlib

import torch
from torch import nn


class Nest(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.inner = Nest(depth - 1) if depth else nn.Linear(8, 8)

    def forward(self, x):
        return self.inner(x)


def main():
    torch.set_num_threads(1)
    model = Nest(60)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    has_nvtx = torch.version.cuda is not None
    for _ in range(4):
        optimizer.zero_grad()
        with contextlib.ExitStack() as ranges:
            for depth in range(400):
                ranges.enter_context(torch.profiler.record_function("outer %d" % depth))
            model(torch.ones(4, 8)).sum().backward()
        for depth in range(1000 if has_nvtx else 0):
            torch.cuda.nvtx.range_push("nvtx %d" % depth)
        optimizer.step()
        for depth in range(1000 if has_nvtx else 0):
            torch.cuda.nvtx.range_pop()
        model(torch.ones(4, 8)).sum().backward()  # modules outside of ranges


main()
