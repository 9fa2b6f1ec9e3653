# SPDX-License-Identifier: Apache-2.0
"""A training that profiles itself with torch.profiler. Each iteration gives back all it allocated, so that
what was allocated before the profiler began is not freed while it looks.

usage: profiled.py FOLDER [--device cpu|cuda] [--no-shapes]
Writes FOLDER/averages.json: key_averages() by name and by input shapes. As far as it is allowed to, it runs ahead of
what else the machine does, and in memory that is there already: a pause between two who look at the same call would be
in the times of one."""

import argparse
import json
import os
import time

import torch
from torch.profiler import ProfilerActivity, profile, schedule

SKIP, WAIT, WARMUP, ACTIVE = 4, 1, 2, 400
ROOM = 400 << 20  # bytes; the profilers take less
# The kernel stops whoever runs ahead of others for 950 ms of a second: after so many steps we pause for so much of
# their time.
STEPS_A_PAUSE, PAUSE = 8, 0.2
# Before each step that is not recorded: profilers have threads of their own, which switch things on.
FIRST_PAUSE_S = 0.1


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


class Ahead:
    """Runs this thread, and those it starts, ahead of others and on one processor: what is needed at each call stays in
    the caches."""

    def __init__(self):
        room = bytearray(b"x") * ROOM  # malloc keeps it (same_run_test.py)
        del room
        self.processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(self.processors)})
        self.set(os.SCHED_FIFO, 1)

    def end(self):
        os.sched_setaffinity(0, self.processors)
        self.set(os.SCHED_OTHER, 0)

    @staticmethod
    def set(policy, priority):
        try:
            os.sched_setscheduler(0, policy, os.sched_param(priority))
        except PermissionError:
            print("runs among others: times may differ more", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--no-shapes", action="store_true")
    wanted = parser.parse_args()
    ahead = Ahead()
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

    with profile(activities=activities, record_shapes=not wanted.no_shapes, profile_memory=True,
                 schedule=schedule(skip_first=SKIP, wait=WAIT, warmup=WARMUP, active=ACTIVE, repeat=1),
                 on_trace_ready=ready) as profiler:
        since = time.monotonic()
        for step in range(SKIP + WAIT + WARMUP + ACTIVE + 2):
            if step <= SKIP + WAIT + WARMUP:
                time.sleep(FIRST_PAUSE_S)
            train(net, optimizer, device)
            if step % STEPS_A_PAUSE == 0:
                time.sleep(PAUSE * (time.monotonic() - since))
                since = time.monotonic()
            if step + 1 == SKIP + WAIT + WARMUP + ACTIVE:
                ahead.end()  # the profilers have much to do now
            profiler.step()


if __name__ == "__main__":
    main()
