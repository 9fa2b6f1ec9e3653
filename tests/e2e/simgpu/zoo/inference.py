# SPDX-License-Identifier: Apache-2.0
"""Answering requests: eager, in bfloat16, and from a CUDA graph."""

import argparse

import torch
from torch import nn


def network():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(32, 10)).cuda().eval()


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15)
    steps = parser.parse_args().steps
    eager, half = network(), network().to(torch.bfloat16)
    for step in range(steps):
        x = torch.randn(4, 3, 32, 32).pin_memory().cuda(non_blocking=True)
        one = eager(x).softmax(-1).cpu()
        two = half(x.to(torch.bfloat16)).float().cpu()
        if step % 5 == 0:
            print("step %d shapes %s %s" % (step, tuple(one.shape), tuple(two.shape)), flush=True)
    x = torch.randn(4, 3, 32, 32, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        eager(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = eager(x)
    for step in range(steps):
        graph.replay()
        if step % 5 == 0:
            print("graph step %d shape %s" % (step, tuple(out.cpu().shape)), flush=True)


if __name__ == "__main__":
    main()
