# SPDX-License-Identifier: Apache-2.0
"""A training that profiles itself with torch.profiler. Each iteration gives back all it allocated, so that
what was allocated before the profiler began is not freed while it looks.

usage: profiled.py FOLDER [--device cpu|cuda]
Writes FOLDER/averages.json: key_averages() by name and by input shapes."""

import argparse
import json
import os

import torch
from torch.profiler import ProfilerActivity, profile, schedule

SKIP, WAIT, WARMUP, ACTIVE = 4, 1, 2, 40


def rows(averages):
    return [{"name": row.key, "on_device": "CUDA" in str(row.device_type), "count": row.count,
             "shapes": row.input_shapes, "cpu": row.cpu_time_total,
             "self_cpu": row.self_cpu_time_total, "device": row.device_time_total,
             "self_device": row.self_device_time_total, "cpu_memory": row.cpu_memory_usage,
             "self_cpu_memory": row.self_cpu_memory_usage, "device_memory": row.device_memory_usage,
             "self_device_memory": row.self_device_memory_usage} for row in averages]


def network(device):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(32, 10)).to(device)


def train(net, optimizer, device):
    images = torch.randn(8, 3, 16, 16).to(device)
    labels = torch.randint(0, 10, (8,)).to(device)
    loss = torch.nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--device", default="cpu")
    wanted = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = torch.device(wanted.device)
    net = network(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    activities = [ProfilerActivity.CPU]
    if wanted.device == "cuda":
        activities.append(ProfilerActivity.CUDA)

    def ready(profiler):
        tables = {"name": profiler.key_averages(),
                  "shapes": profiler.key_averages(group_by_input_shape=True)}
        with open(os.path.join(wanted.folder, "averages.json"), "w", encoding="utf-8") as file:
            json.dump({"table": tables["name"].table(row_limit=20),
                       **{by: rows(table) for by, table in tables.items()}}, file)

    with profile(activities=activities, record_shapes=True, profile_memory=True,
                 schedule=schedule(skip_first=SKIP, wait=WAIT, warmup=WARMUP, active=ACTIVE, repeat=1),
                 on_trace_ready=ready) as profiler:
        for _ in range(SKIP + WAIT + WARMUP + ACTIVE + 2):
            train(net, optimizer, device)
            profiler.step()


if __name__ == "__main__":
    main()
