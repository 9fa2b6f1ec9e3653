# SPDX-License-Identifier: Apache-2.0
"""A two-layer LSTM."""

import argparse

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(32, 64, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(64, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    steps = parser.parse_args().steps
    model = Model().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(steps):
        x = torch.randn(16, 24, 32, device="cuda")
        loss = nn.functional.mse_loss(model(x), x.mean(dim=(1, 2), keepdim=False)[:, None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print("step %d loss %.4f" % (step, loss.item()), flush=True)


if __name__ == "__main__":
    main()
