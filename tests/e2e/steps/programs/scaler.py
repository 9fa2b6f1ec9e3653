# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: the scaler leaves the optimizer out where gradients overflowed (3 of 9)."""

import torch

import parts
import truth


def main():
    if not hasattr(torch, "amp") or not hasattr(torch.amp, "GradScaler"):
        raise SystemExit(77)
    model = parts.mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    x, y = parts.batch()
    for i in range(27):
        with truth.step:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = parts.loss_of(model(x).float(), y)
            if i % 9 in (2, 3, 7):
                loss = loss * float("inf")
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


if __name__ == "__main__":
    main()
