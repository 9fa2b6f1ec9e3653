# SPDX-License-Identifier: Apache-2.0
"""A kernel of Triton's on tensors of PyTorch; says how often it launched it."""

import json

import torch
import triton
import triton.language as tl

LAUNCHES, SIZE = 40, 1024


@triton.jit
def gpu_check_triton(x, size: tl.constexpr):
    place = tl.arange(0, size)
    tl.store(x + place, tl.load(x + place) + 1)


def main():
    value = torch.zeros(SIZE, device="cuda")
    for _ in range(LAUNCHES):
        gpu_check_triton[(1,)](value, SIZE)
    torch.cuda.synchronize()
    print(json.dumps({"counts": {"gpu_check_triton": LAUNCHES}}))


if __name__ == "__main__":
    main()
