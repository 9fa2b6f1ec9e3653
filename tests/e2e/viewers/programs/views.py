# SPDX-License-Identifier: Apache-2.0
"""A training that can be given a bottleneck; nothing in it knows of profilers.

usage: views.py [--device cpu|cuda] [--ranks] [--slow-loader] [--copies] [--host-work] [--fill] [--half]
                [--autocast] [--width N] [--repeat N] [--steps N]
  --slow-loader  a sample takes 3 ms to load
  --copies       64 MiB come from the device in each step
  --host-work    operators on the CPU that a step waits for
  --fill         takes 95 % of the device's memory
  --half         16-bit floating point, for which GPUs have matrix units
  --autocast     the same where PyTorch's automatic mixed precision chooses it
  --width N      rows and columns of the matrices: small ones leave a GPU idle
  --repeat N     pass the body so often"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, sizes, kind, wait):
        self.data = torch.randn(sizes).to(kind)
        self.wait = wait

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        if self.wait:
            time.sleep(self.wait)
        return self.data[index]


class Net(nn.Module):
    def __init__(self, width, repeat):
        super().__init__()
        self.repeat = repeat
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, width)

    def forward(self, x):
        for _ in range(self.repeat):
            x = self.body(x)
        return self.head(x)


def prepared(options):
    kind = torch.float16 if options.half else torch.float32
    model = Net(options.width, options.repeat).to(options.device, kind)
    if options.ranks:
        dist.init_process_group("gloo" if options.device == "cpu" else "nccl")
        model = nn.parallel.DistributedDataParallel(model)
    if options.slow_loader:
        return model, DataLoader(Samples((4 * options.steps, options.width), kind, 0.003),
                                 batch_size=4)
    rows = max(4, options.width // 8)  # whole batches are ready
    return model, DataLoader(Samples((options.steps, rows, options.width), kind, 0),
                             batch_size=None)


def prepared_on_host():
    x = torch.ones(256, 256)
    for _ in range(40):
        x = torch.sin(x @ x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=1)
    for flag in ("--ranks", "--slow-loader", "--copies", "--host-work", "--fill", "--half",
                 "--autocast"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    model, loader = prepared(options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    spare = torch.empty(1 << 24, device=options.device) if options.copies else None
    if options.fill:
        spare = torch.empty(int(torch.cuda.mem_get_info()[1] * 0.95), dtype=torch.uint8,
                            device=options.device)
    for x in loader:
        x = x.to(options.device)
        if options.copies:
            spare.cpu()
        if options.host_work:
            prepared_on_host()
        with torch.autocast(options.device, torch.bfloat16, enabled=options.autocast):
            loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if options.device == "cuda":
            torch.cuda.synchronize()
    if options.ranks:
        dist.destroy_process_group()
    if options.device == "cuda" or options.ranks:
        time.sleep(0.2)  # the interpreter's end aborts the program if autograd's thread still works


if __name__ == "__main__":
    main()
