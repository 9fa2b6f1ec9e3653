# SPDX-License-Identifier: Apache-2.0
"""Three models in an ordinary training loop.

usage: models.py mlp|conv|transformer [--steps N] [--device cpu|cuda]"""

import argparse

import torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.norm(self.first(x)))


class Twice(nn.Module):
    """One module called twice in a pass."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(16, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        parts = torch.split(self.shared(torch.tanh(self.shared(x))), 8, dim=1)
        return self.head(torch.cat(parts, dim=1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)
        self.head = nn.Linear(32, 4)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


def made(name):
    if name == "mlp":
        return Twice(), torch.randn(8, 16)
    if name == "conv":
        body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), Residual(8), nn.MaxPool2d(2),
                             Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
        return body, torch.randn(4, 3, 16, 16)
    return Transformer(), torch.randint(0, 100, (4, 12))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    model, x = made(options.model)
    model, x = model.to(options.device), x.to(options.device)
    y = torch.randint(0, 4, (len(x),)).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(options.steps):
        with torch.profiler.record_function("forward"):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        torch.stack([loss.detach(), loss.detach()]).sum()


if __name__ == "__main__":
    main()
