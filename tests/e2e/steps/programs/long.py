# SPDX-License-Identifier: Apache-2.0
"""Long enough for a schedule: many short steps, or fewer longer ones.

usage: long.py mlp|convolution|transformer STEPS [SECONDS]   SECONDS: between its first operator and training"""

import sys
import time

import torch
from torch import nn

import parts
import truth


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(200, 64)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
        self.head = nn.Linear(64, 200)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens))).flatten(0, 1)


class Convolution(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(16, 4))


def main():
    count = int(sys.argv[2])
    if sys.argv[1] == "mlp":
        model = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 4))
        x, y = parts.batch()
    elif sys.argv[1] == "convolution":
        model = Convolution()
        x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 4, (8,))
    else:
        model = Transformer()
        x = torch.randint(0, 200, (4, 32))
        y = torch.randint(0, 200, (4 * 32,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    time.sleep(float(sys.argv[3]) if len(sys.argv) > 3 else 0)
    for _ in range(count):
        with truth.step:
            optimizer.zero_grad()
            loss = parts.loss_of(model(x), y)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
