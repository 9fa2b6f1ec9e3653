# SPDX-License-Identifier: Apache-2.0
"""Collectives of one rank alone by NCCL."""

import json
import os
import tempfile

import torch
import torch.distributed as dist

CALLS = 20


def main():
    torch.cuda.set_device(0)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("nccl", init_method="file://" + os.path.join(folder, "meet"), rank=0, world_size=1)
        value, all_of_it = torch.ones(1 << 16, device="cuda"), torch.empty(1 << 16, device="cuda")
        for _ in range(CALLS):
            dist.all_reduce(value)
            dist.all_gather_into_tensor(all_of_it, value)
        torch.cuda.synchronize()
        dist.destroy_process_group()
    print(json.dumps({"calls": 2 * CALLS}))


if __name__ == "__main__":
    main()
