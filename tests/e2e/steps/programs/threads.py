# SPDX-License-Identifier: Apache-2.0
"""Two threads train with the same function at once: the steps are those of one.

usage: threads.py STEPS   the main thread makes so many, the other one a tenth"""

import sys
import threading

import torch

import parts
import truth


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def train(count, marker, begun):
    model = parts.mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = parts.batch()
    for i in range(count):
        with marker:
            optimizer.zero_grad()
            loss = parts.loss_of(model(x), y)
            loss.backward()
            optimizer.step()
        if i == 5:
            begun.set()


def main():
    count = int(sys.argv[1])
    begun = threading.Event()

    def beside():
        begun.wait()
        train(count // 10, Nothing(), begun)

    other = threading.Thread(target=beside)
    other.start()
    train(count, truth.step, begun)
    other.join()


if __name__ == "__main__":
    main()
