# SPDX-License-Identifier: Apache-2.0
"""What the programs share: small models and data that are the same at every run."""

import torch
from torch import nn
from torch.utils.data import Dataset

torch.manual_seed(1)
torch.set_num_threads(1)


def mlp():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


class Layers(nn.Module):
    """Its own loop over layers: found, but never a step."""

    def __init__(self, count=4):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(count))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


class Points(Dataset):
    def __init__(self, count):
        self.points = torch.randn(count, 16)
        self.labels = torch.randint(0, 4, (count,))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.points[index] * 2, self.labels[index]


def batch(size=8):
    return torch.randn(size, 16), torch.randint(0, 4, (size,))


loss_of = nn.functional.cross_entropy
