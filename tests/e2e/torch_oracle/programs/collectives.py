# SPDX-License-Identifier: Apache-2.0
"""Every kind of collective, in the group of all ranks and in one of its own; started by torchrun.

usage: collectives.py BACKEND"""

import os
import sys

import torch
import torch.distributed as dist


def talk(group, ranks, device):
    values = torch.ones(6, device=device)
    parts = [torch.empty(6, device=device) for _ in ranks]
    whole = torch.empty(6 * len(ranks), device=device, dtype=torch.float16)
    dist.all_reduce(values, group=group)
    dist.broadcast(values, ranks[0], group=group)
    dist.reduce(values, ranks[-1], group=group)
    dist.all_gather(parts, values, group=group)
    dist.all_gather_into_tensor(whole, values.half(), group=group)
    dist.reduce_scatter(values, parts, group=group)
    dist.reduce_scatter_tensor(values.half(), whole, group=group)
    dist.all_to_all_single(whole, whole.clone(), group=group)
    if dist.get_rank() == ranks[0]:
        dist.send(values, ranks[1], group=group)
    else:
        dist.recv(values, ranks[0], group=group)
    dist.all_reduce(values, group=group, async_op=True).wait()
    dist.barrier(group=group)


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group(sys.argv[1])
    everyone = list(range(dist.get_world_size()))
    pair = dist.new_group(everyone[:2], group_desc="the pair")
    for _ in range(3):
        talk(None, everyone, device)
        talk(pair, everyone[:2], device)
    torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
