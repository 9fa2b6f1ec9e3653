# SPDX-License-Identifier: Apache-2.0
"""Short steps, and for many of them gpuprof's daemon stands still: it is stopped by this program.

usage: starved.py [--steps N]"""

import argparse
import os
import signal

import torch

import parts
import truth

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1500, help="without the daemon")
COUNT = parser.parse_args().steps
BESIDE = 200  # before and after
model, (x, y) = parts.mlp(), parts.batch()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def daemon():
    """The one that the command in front of this program started."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="ascii", errors="replace") as file:
                name, rest = file.read().rsplit(")", 1)
        except OSError:
            continue
        if name.endswith("(gpuprofd") and int(rest.split()[1]) == os.getppid():
            return int(pid)
    return None


for i in range(BESIDE + COUNT + BESIDE):
    with truth.step:
        if i in (BESIDE, BESIDE + COUNT) and daemon() is not None:
            os.kill(daemon(), signal.SIGSTOP if i == BESIDE else signal.SIGCONT)
        optimizer.zero_grad()
        loss = parts.loss_of(model(x), y)
        loss.backward()
        optimizer.step()
