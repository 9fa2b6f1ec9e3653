# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training of many short kernels that goes on until SIGTERM; its process id comes first.

usage: torch_steps.py forever | timed FILE

timed: a line `profile NAME SECONDS` on its input switches torch.profiler on for so long, after which it says `done`. At
the end FILE holds, as JSON, when each step began (`began_ns`, CLOCK_MONOTONIC), before which steps something was
switched (`breaks`), and when torch.profiler was on (`windows`) and how long each of its stops took (`stop_ns`)."""

import array
import json
import os
import queue
import signal
import sys
import threading
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

WARM = 30
CONTENTS = {
    "kernels": {"activities": [ProfilerActivity.CUDA]},
    "operators": {"activities": [ProfilerActivity.CPU, ProfilerActivity.CUDA]},
    "everything": {"activities": [ProfilerActivity.CPU, ProfilerActivity.CUDA], "record_shapes": True, "with_stack": True,
                   "with_modules": True, "profile_memory": True},
}


def step_of():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.1)
    model = nn.Sequential(nn.TransformerEncoder(layer, 4), nn.Flatten(), nn.Linear(32 * 128, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs, targets = torch.randn(8, 32, 128).cuda(), torch.randint(0, 10, (8,)).cuda()

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        torch.cuda.synchronize()
    return step


class Orders:
    """Lines of the input, taken up between two steps."""

    def __init__(self):
        self.lines = queue.Queue()
        self.windows, self.stop_ns = [], []
        self.profiler, self.since, self.until = None, 0, 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in sys.stdin:
            self.lines.put(line.split())

    def look(self):
        """True where something was switched."""
        now = time.monotonic_ns()
        if self.profiler is None and not self.lines.empty():
            _, name, seconds = self.lines.get()
            self.profiler = profile(**CONTENTS[name])
            self.profiler.start()
            self.since = time.monotonic_ns()
            self.until = self.since + int(float(seconds) * 1e9)
            return True
        if self.profiler is None or now < self.until:
            return False
        self.windows.append((self.since, now))
        self.profiler.stop()
        self.profiler = None
        self.stop_ns.append(time.monotonic_ns() - now)
        print("done", flush=True)
        return True


def main():
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    timed = sys.argv[1] == "timed"
    step = step_of()
    for _ in range(WARM):
        step()
    print(os.getpid(), flush=True)
    orders = Orders() if timed else None
    began, breaks = array.array("q"), []
    while not ended:
        began.append(time.monotonic_ns())
        step()
        if timed and orders.look():
            breaks.append(len(began))
        if not timed:
            time.sleep(0.01)
    began.append(time.monotonic_ns())
    if timed:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            json.dump({"began_ns": began.tolist(), "breaks": breaks, "windows": orders.windows,
                       "stop_ns": orders.stop_ns}, file)
    print("trained %d steps" % (len(began) - 1), flush=True)


if __name__ == "__main__":
    main()
