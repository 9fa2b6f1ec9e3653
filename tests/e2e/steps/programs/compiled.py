# SPDX-License-Identifier: Apache-2.0
"""torch.compile around the model, the whole step, or the optimizer.

usage: compiled.py model|step|optimizer"""

import sys

import torch

import parts
import truth


def main():
    what = sys.argv[1]
    model = parts.mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    called = torch.compile(model) if what == "model" else model
    update = torch.compile(optimizer.step) if what == "optimizer" else optimizer.step

    def step(x, y):
        optimizer.zero_grad()
        loss = parts.loss_of(called(x), y)
        loss.backward()
        update()

    whole = torch.compile(step) if what == "step" else step
    x, y = parts.batch()
    for _ in range(20):
        with truth.step:
            whole(x, y)


if __name__ == "__main__":
    main()
