# SPDX-License-Identifier: Apache-2.0
"""Operators with every kind of input: numbers of all kinds, alone and in lists, and what is none.

usage: scalars.py scalars [--device cpu|cuda]"""

import argparse

import torch

torch.set_num_threads(1)


def numbers(x, c):
    torch.add(c, c, alpha=1 + 2j)
    torch.add(c, c, alpha=-0.5 - 1e-7j)
    torch.full((2,), 1e-7 + 3e20j, device=c.device)
    torch.full((2,), complex("nan-infj"), device=c.device)
    for value in (0.1, -0.0, 2.0, 1e10, 12345678.5, 1e-12, float("inf"), float("nan"), 7, -3, True):
        torch.full((2,), value, device=x.device)
        torch.clamp(x, value, None)
    torch.add(x, x, alpha=1234567.0)
    torch.pow(x, 2)


def lists(x, c):
    torch._foreach_add([x, x], [1.0, 2.5])
    torch._foreach_add([x, x], [1, 2])
    torch._foreach_add([x, x, x], [1, 2.5, True])
    torch._foreach_add([c, c], [1j, 2 - 3j])
    torch._foreach_add([c, c], [1, 2 - 3j])
    torch.zeros(20 * [1], device=x.device)
    for parts in (17, 30, 31):
        torch.ones(parts, 2, device=x.device).split([1] * parts)
    torch.ones([], device=x.device).view([])
    torch.nn.functional.interpolate(x.view(1, 1, 2, 3), scale_factor=2.0, mode="bilinear")


def others(x):
    torch.nn.functional.gelu(x, approximate="tanh")
    torch.div(x, 3, rounding_mode="floor")
    torch.einsum("ij,kj->ik", x, x)
    torch.empty(2, dtype=torch.int8, device=x.device)
    x[:, torch.tensor([0, 1], device=x.device)]
    x[None, ..., 1]
    x.to(torch.float64)
    torch.stack([x, x])
    torch.empty_like(x, memory_format=torch.preserve_format)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    x = torch.ones(2, 3, device=device)
    numbers(x, torch.ones(2, 3, dtype=torch.complex64, device=device))
    lists(x, torch.ones(2, 3, dtype=torch.complex64, device=device))
    others(x)


if __name__ == "__main__":
    main()
