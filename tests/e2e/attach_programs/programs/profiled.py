# SPDX-License-Identifier: Apache-2.0
"""A training that uses torch.profiler itself when it is reported to.

usage: profiled.py FOLDER [--device D]
Reads words from stdin: `profile` begins a session of torch.profiler, `train` ends it, `end` ends the
training; answers each with a line once it has happened. FOLDER/session.N.json is the Nth session's
trace; FOLDER/sessions.json says how many steps each had.
"""

import argparse
import json
import os
import sys
import threading
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


class Words:
    """What was said last."""

    def __init__(self):
        self.last = "train"
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in sys.stdin:
            self.last = line.strip()


def settle(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


class Sessions:
    """torch.profiler, when it is wanted."""

    def __init__(self, folder, device):
        self.folder, self.device = folder, device
        self.steps, self.current = [], None

    def begin(self):
        settle(self.device)
        self.current = profile(activities=[ProfilerActivity.CPU, *(
            [ProfilerActivity.CUDA] if self.device.type == "cuda" else [])])
        self.current.start()
        settle(self.device)
        self.steps.append(0)
        print("profile", flush=True)

    def end(self):
        settle(self.device)
        self.current.stop()
        self.current.export_chrome_trace(os.path.join(self.folder, "session.%d.json" % len(self.steps)))
        self.current = None
        print("train", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    device = torch.device(options.device)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    words, sessions = Words(), Sessions(options.folder, device)
    said = "train"
    print("ready", flush=True)
    while said != "end":
        loss = model(torch.randn(32, 64).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.005)
        if sessions.current:
            sessions.steps[-1] += 1
        if words.last != said:
            said = words.last
            if sessions.current:
                sessions.end()
            elif said == "profile":
                sessions.begin()
    with open(os.path.join(options.folder, "sessions.json"), "w", encoding="utf-8") as file:
        json.dump(sessions.steps, file)


if __name__ == "__main__":
    main()
