# SPDX-License-Identifier: Apache-2.0
"""Two optimizers: a step is what trains both.

usage: adversaries.py CRITIC_UPDATES [SECONDS]   (1: a GAN, 5: a critic trained five times as often)
  SECONDS  the fourth update of the first step takes so long, as where something is compiled"""

import sys
import time

import torch
from torch import nn

import parts
import truth


def main():
    updates = int(sys.argv[1])
    pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0
    maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16))
    judge = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
    of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
    real, _ = parts.batch()

    def train_judge():
        of_judge.zero_grad()
        loss = judge(maker(torch.randn(8, 4)).detach()).mean() - judge(real).mean()
        loss.backward()
        of_judge.step()

    for _ in range(15):
        with truth.step:
            if updates == 1:
                train_judge()
            else:
                for i in range(updates):
                    train_judge()
                    if i == 3:
                        time.sleep(pause)
                        pause = 0
            of_maker.zero_grad()
            loss = -judge(maker(torch.randn(8, 4))).mean()
            loss.backward()
            of_maker.step()


if __name__ == "__main__":
    main()
