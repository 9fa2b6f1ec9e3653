# SPDX-License-Identifier: Apache-2.0
"""Trains a small net under torch.profiler; writes its trace and the tables it prints.

usage: profiled_net.py FOLDER [stacks]"""

import json
import os
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

SORTS = ["self_cpu_time_total", "cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
         "count"]


def main():
    folder, stacks = sys.argv[1], "stacks" in sys.argv[2:]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(8 * 14 * 14, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    data = torch.utils.data.TensorDataset(torch.randn(24, 3, 16, 16), torch.randint(0, 10, (24,)))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 with_stack=stacks) as profiler:
        for batch, target in torch.utils.data.DataLoader(data, batch_size=8):
            optimizer.zero_grad()
            with record_function("forward pass"):
                loss = torch.nn.functional.cross_entropy(net(batch), target)
            loss.backward()
            optimizer.step()
            torch.cat([batch, batch]).sum().item()
            profiler.step()
    profiler.export_chrome_trace(os.path.join(folder, "net.pt.trace.json"))
    tables = {}
    for key in SORTS:
        tables[key] = profiler.key_averages().table(sort_by=key, row_limit=1000)
        shapes = profiler.key_averages(group_by_input_shape=True)
        tables["shapes " + key] = shapes.table(sort_by=key, row_limit=1000)
    tables["limited"] = profiler.key_averages().table(sort_by="cpu_time_total", row_limit=7)
    with open(os.path.join(folder, "tables.json"), "w", encoding="utf-8") as out:
        json.dump(tables, out)


if __name__ == "__main__":
    main()
