# SPDX-License-Identifier: Apache-2.0
"""Kills itself in the middle of a step, inside a range.

usage: killed.py STEPS"""

import os
import signal
import sys
import time

import torch
from torch.profiler import record_function

model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(int(sys.argv[1]) + 1):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 16)).sum()
    with record_function("step %d" % step):
        torch.erfinv(torch.zeros(3))
        if step == int(sys.argv[1]):
            torch.lgamma(torch.ones(3))  # nowhere else
            print("killed in step", step, flush=True)
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
    optimizer.step()
