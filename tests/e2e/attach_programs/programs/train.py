# SPDX-License-Identifier: Apache-2.0
"""An ordinary PyTorch training that knows nothing of profilers; it goes on until SIGTERM.

usage: train.py FOLDER [--device D] [--steps N] [--pause SECONDS] [--pause-inside SECONDS]
--pause: after each step; --pause-inside: between its forward and its backward.
FOLDER/steps.json: of each step when it began (CLOCK_MONOTONIC, ns) and its loss, exactly. Says "ready"
after three steps, and at the end how many there were.
"""

import argparse
import json
import os
import signal
import time

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.head = nn.Linear(128, 10)

    def forward(self, batch):
        return self.head(self.body(batch))


def train(model, optimizer, options, device, stopped):
    began, losses = [], []
    draw = torch.Generator().manual_seed(7)
    while not stopped and len(began) < options.steps:
        began.append(time.monotonic_ns())
        batch = torch.randn(32, 64, generator=draw).to(device)
        labels = torch.randint(0, 10, (32,), generator=draw).to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        time.sleep(options.pause_inside)
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
        if len(began) == 3:
            print("ready", flush=True)
        time.sleep(options.pause)
    began.append(time.monotonic_ns())
    return began, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=1 << 60)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--pause-inside", type=float, default=0.0)
    options = parser.parse_args()
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    torch.manual_seed(1)
    torch.set_num_threads(1)
    device = torch.device(options.device)
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    began, losses = train(model, optimizer, options, device, stopped)
    with open(os.path.join(options.folder, "steps.json"), "w", encoding="utf-8") as file:
        json.dump({"began_ns": began, "losses": losses}, file)
    print("trained %d steps" % len(losses), flush=True)


if __name__ == "__main__":
    main()
