# SPDX-License-Identifier: Apache-2.0
"""Operators and ranges that do not simply begin and end in turn."""

import sys
import threading

import torch
from torch.profiler import record_function


def throws():
    for _ in range(50):
        try:
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        except RuntimeError:
            pass


def ticks(name):
    with record_function(name):
        for i in range(3):
            torch.ones(2).add(i)
            yield i


def interleaved():
    first, second = ticks("generator one"), ticks("generator two")
    for a, b in zip(first, second):
        torch.zeros(a + b + 1).sum()
    left_open = ticks("generator left open")
    next(left_open)
    return left_open


def on_a_future():
    future = torch.futures.Future()
    with record_function("ended by a future") as range_:
        ended = range_._call_end_callbacks_on_future(future)
    other = threading.Thread(target=lambda: future.set_result(torch.ones(1)))
    other.start()
    other.join()
    return ended.wait().item()


@torch.jit.script
def scripted(x: torch.Tensor) -> torch.Tensor:
    for i in range(3):
        x = x.sin() + i
    return x


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def backward_that_throws():
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("broken")

    x = torch.ones(2, requires_grad=True)
    try:
        Broken.apply(x * 2).sum().backward()
    except ValueError:
        pass


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for _ in range(rounds):
        throws()
        left_open = interleaved()
        on_a_future()
        scripted(torch.ones(4))
        backward_that_throws()
        x = torch.ones(3, requires_grad=True)
        Doubled.apply(x).sum().backward()
        with torch.inference_mode():
            torch.ones(3).mul(2)
        with record_function("outer"):
            with record_function("inner"):
                torch.ones(5).exp()
        del left_open
    print("end of", rounds, "rounds")


if __name__ == "__main__":
    main()
