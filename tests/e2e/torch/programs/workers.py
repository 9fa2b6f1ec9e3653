# SPDX-License-Identifier: Apache-2.0
"""A DataLoader with worker processes.

usage: workers.py fork|spawn|forkserver"""

import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, index):
        values = torch.full((64, 64), float(index))
        for _ in range(20):
            values = (values @ values).sigmoid() + index
        return values[0], torch.tensor(index % 3)


def main():
    torch.manual_seed(0)
    model = torch.nn.Linear(64, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Numbers(), batch_size=8, num_workers=2, multiprocessing_context=sys.argv[1],
                        persistent_workers=True)
    seen = 0
    for _ in range(3):
        for values, kinds in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(values), kinds).backward()
            optimizer.step()
            seen += len(kinds)
    print(seen, "samples")


if __name__ == "__main__":
    main()
