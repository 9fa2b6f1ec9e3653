# SPDX-License-Identifier: Apache-2.0
"""Work of PyTorch without steps.

usage: stepless.py straight|recursive|requests|compiled|lasting
The first and the last print how many seconds after the first operator came what is looked for."""

import random
import sys
import time

import torch

import parts


def straight():
    """A script from top to bottom."""
    begin = time.monotonic()
    a = torch.randn(64, 64)
    b = a @ a.T + torch.eye(64) * 100
    c = torch.linalg.cholesky(b)
    d = torch.linalg.solve(b, a)
    e = torch.fft.rfft(a)
    print(time.monotonic() - begin)
    return (c.sum() + d.abs().max() + e.abs().mean()).item()


def recursive():
    """Training without any loop."""
    model = parts.mlp()
    x, y = parts.batch()

    def train(left):
        if left:
            parts.loss_of(model(x), y).backward()
            train(left - 1)

    train(40)


def requests():
    """Two requests, far apart, each of one forward pass."""
    model = parts.Layers()
    with torch.no_grad():
        first = model(torch.randn(4, 16)).sum().item()
        time.sleep(0.2)
        second = model(torch.randn(9, 16)).softmax(1).max().item()
    return first + second + random.random()


def compiled():
    """Two functions are compiled, each is called once: the compiler's own loops are no steps."""
    def waves(x):
        y = torch.cat([x, x * 2]).sin()
        return (y + x.shape[0]).cos().sum() * y.mean().exp()

    def fold(x):
        y = (x @ x.t()).softmax(1)
        return (y.relu() - y.tanh()).abs().max()

    one = torch.compile(waves, backend="aot_eager", dynamic=True)(torch.ones(4, 3))
    other = torch.compile(fold, backend="aot_eager", dynamic=True)(torch.ones(5, 2))
    return one.item() + other.item()


def lasting():
    """Eight seconds; the last operator is late."""
    begin = time.monotonic()
    a = torch.randn(64, 64)
    time.sleep(3)
    b = a @ a
    print(time.monotonic() - begin)
    time.sleep(5)
    return torch.linalg.det(b).item()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
