# SPDX-License-Identifier: Apache-2.0
"""The ordinary loop, with the optimizers and ways to clear gradients people use.

usage: plain.py [--optimizer sgd|momentum|adamw|fused] [--zero none|zeros|model|manual|first]"""

import argparse

import torch

import parts
import truth

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3),
    "fused": lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
}


def clear(how, model, optimizer):
    if how == "model":
        model.zero_grad()
    elif how == "manual":
        for parameter in model.parameters():
            parameter.grad = None
    else:
        optimizer.zero_grad(set_to_none=how != "zeros")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--zero", default="none")
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    if options.optimizer == "fused" and not hasattr(torch, "_fused_sgd_"):
        raise SystemExit(77)  # not on the CPU yet
    model = parts.Layers()
    optimizer = OPTIMIZERS[options.optimizer](model.parameters())
    x, y = parts.batch()
    for _ in range(options.steps):
        with truth.step:
            if options.zero == "first":
                optimizer.zero_grad()
            loss = parts.loss_of(model(x), y)
            if options.zero != "first":
                clear(options.zero, model, optimizer)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
