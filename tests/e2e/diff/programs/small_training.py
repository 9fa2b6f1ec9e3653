# SPDX-License-Identifier: Apache-2.0
"""A small training on the CPU, to be recorded twice and compared.

usage: small_training.py [--steps N] [--parts N] [--extra NAME] [--bigger]

An operator of its own, `planted::work`, does its work in N equal parts of which each is one
matmul: 20 are the normal run, 22 a run in which this operator is 10 % slower."""

import argparse

import torch

LIBRARY = torch.library.Library("planted", "DEF")
LIBRARY.define("work(Tensor x, int parts) -> Tensor")
LIBRARY.define("more(Tensor x) -> Tensor")


def work(x, parts):
    y = x
    for _ in range(parts):
        y = torch.mm(x, x)
    return y.clone()


def more(x):
    """Enough to be seen in a step that a busy machine makes several times as long."""
    y = x
    for _ in range(20):
        y = torch.mm(x, x)
    return y


LIBRARY.impl("work", work, "CPU")
LIBRARY.impl("more", more, "CPU")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.BatchNorm2d(16),
            torch.nn.Conv2d(16, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 16, 64), torch.nn.ReLU(),
            torch.nn.Linear(64, 10))

    def forward(self, x):
        return self.layers(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--parts", type=int, default=20)
    parser.add_argument("--more", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    square = torch.rand(160, 160)
    for _ in range(arguments.steps):
        images, labels = torch.rand(16, 3, 32, 32), torch.randint(10, (16,))
        with torch.no_grad():
            torch.ops.planted.work(square, arguments.parts)
            if arguments.more:
                torch.ops.planted.more(square)
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
