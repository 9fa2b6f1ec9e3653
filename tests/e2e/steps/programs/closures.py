# SPDX-License-Identifier: Apache-2.0
"""Optimizers that call the program back.

usage: closures.py lbfgs|lightning
  lbfgs      evaluates its closure up to 5 times a step
  lightning  forward and backward inside the optimizer's step, as Lightning does it"""

import sys

import torch

import parts
import truth


def main():
    model = parts.mlp()
    x, y = parts.batch()
    if sys.argv[1] == "lbfgs":
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=5)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def closure():
        optimizer.zero_grad()
        loss = parts.loss_of(model(x), y)
        loss.backward()
        return loss

    for _ in range(15):
        with truth.step:
            optimizer.step(closure)


if __name__ == "__main__":
    main()
