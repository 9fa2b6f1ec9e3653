# SPDX-License-Identifier: Apache-2.0
"""Data parallel training in which the last rank loads its data 20 ms slower than the others."""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def batch(slow):
    if slow:
        time.sleep(0.020)
    return torch.randn(32, 128, device="cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    model = DistributedDataParallel(nn.Linear(128, 128).cuda(), device_ids=[local])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    slow = dist.get_rank() == dist.get_world_size() - 1
    for step in range(steps):
        loss = model(batch(slow)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        if step % 10 == 0 and dist.get_rank() == 0:
            print("step %d" % step, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
