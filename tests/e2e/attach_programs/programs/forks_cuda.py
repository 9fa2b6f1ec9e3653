# SPDX-License-Identifier: Apache-2.0
"""Multiplies on the GPU and forks a child five times a second. Until SIGTERM."""
import os
import signal
import time

import torch

told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
matrix = torch.randn(64, 64, device="cuda")
print("ready", flush=True)
count, forked_s = 0, time.monotonic()
while not told:
    matrix @ matrix
    torch.cuda.synchronize()
    count += 1
    time.sleep(0.002)
    if time.monotonic() - forked_s > 0.2:
        forked_s = time.monotonic()
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
print("ok", count, flush=True)
