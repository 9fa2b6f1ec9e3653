# SPDX-License-Identifier: Apache-2.0
"""Inference with a little training beside it.

usage: calibrate.py temperature|warm-up
  temperature  a loop, temperatures fitted to what it found by one LBFGS.step, and a test loop
  warm-up      three iterations that go backward, and then the loop that holds the time"""

import sys
import time

import torch

import parts
import truth


def main():
    model = parts.mlp()
    x, y = parts.batch()

    def infer(times, pause):
        found = []
        with torch.no_grad():
            for _ in range(times):
                with truth.step:
                    found.append(model(x).softmax(-1))
                    time.sleep(pause)
        return torch.cat(found)

    def temperature():
        found = infer(60, 0.11)
        degrees = torch.ones(1, requires_grad=True)
        optimizer = torch.optim.LBFGS([degrees], max_iter=20)

        def closure():
            optimizer.zero_grad()
            loss = (found / degrees).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        infer_again()

    def infer_again():
        with torch.no_grad():
            for _ in range(60):
                with truth.step:
                    model(x).argmax(-1)
                    time.sleep(0.11)

    def warm_up():
        for _ in range(3):
            parts.loss_of(model(x), y).backward()
        with torch.no_grad():
            for _ in range(3000):
                with truth.step:
                    model(x).argmax(-1)

    {"temperature": temperature, "warm-up": warm_up}[sys.argv[1]]()


if __name__ == "__main__":
    main()
