# SPDX-License-Identifier: Apache-2.0
"""torch.compile, in its default mode and with reduced overhead (CUDA graphs)."""

import argparse

import torch
from torch import nn


def body(width):
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width),
                         nn.Linear(width, width)).cuda()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    steps = parser.parse_args().steps
    trained = body(128)
    step_once = torch.compile(trained)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.01)
    x = torch.randn(32, 128, device="cuda")
    for step in range(steps):
        loss = step_once(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print("default step %d loss %.4f" % (step, loss.item()), flush=True)
    answer = torch.compile(body(64), mode="reduce-overhead")
    with torch.no_grad():
        for step in range(steps):
            out = answer(torch.randn(16, 64, device="cuda"))
            if step % 5 == 0:
                print("reduce-overhead step %d mean %.4f" % (step, out.mean().item()), flush=True)


if __name__ == "__main__":
    main()
