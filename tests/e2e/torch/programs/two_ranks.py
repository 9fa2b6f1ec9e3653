# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel over gloo with two loader workers a rank; started by torchrun."""

import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        values = torch.full((64, 64), float(index))
        for _ in range(20):
            values = (values @ values).sigmoid()
        return values[0], torch.tensor(index % 4)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2, persistent_workers=True,
                        multiprocessing_context=sys.argv[1])
    for _ in range(2):
        for values, kinds in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(values), kinds).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
