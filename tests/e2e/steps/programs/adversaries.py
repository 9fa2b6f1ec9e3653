# SPDX-License-Identifier: Apache-2.0
"""Two optimizers: a step is what trains both.

usage: adversaries.py CRITIC_UPDATES   (1: a GAN, 5: a critic trained five times as often)"""

import sys

import torch
from torch import nn

import parts
import truth


def main():
    updates = int(sys.argv[1])
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
                for _ in range(updates):
                    train_judge()
            of_maker.zero_grad()
            loss = -judge(maker(torch.randn(8, 4))).mean()
            loss.backward()
            of_maker.step()


if __name__ == "__main__":
    main()
