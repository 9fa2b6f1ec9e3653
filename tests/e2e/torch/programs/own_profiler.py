# SPDX-License-Identifier: Apache-2.0
"""A training that profiles itself with torch.profiler: schedule, stacks, shapes, memory.

usage: own_profiler.py FOLDER
Writes FOLDER/events.json: what each of its traces held, without what differs from run to run."""

import collections
import json
import os
import re
import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule

KEPT = ("Input Dims", "Input type", "Concrete Inputs", "Sequence number", "Bytes", "Device Type",
        "Device Id", "Total Allocated", "Total Reserved")
LEFT_OUT = ("Trace", "overhead")  # the profiler's own


def canonical(event):
    args = event.get("args", {})
    name = re.sub(r"0x[0-9a-f]+", "0x", str(event.get("name")))
    return json.dumps([event.get("cat"), name, {key: args[key] for key in KEPT if key in args}])


def main():
    folder = sys.argv[1]
    counted = []

    def ready(session):
        path = os.path.join(folder, "own.json")
        session.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        counted.append(collections.Counter(
            canonical(e) for e in events
            if e.get("ph") in ("X", "i") and e.get("cat") not in LEFT_OUT))

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = model(torch.randn(32, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(50):  # before
        step()
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=2, warmup=2, active=3,
                                                                      repeat=2),
                 on_trace_ready=ready, record_shapes=True, with_stack=True,
                 profile_memory=True) as session:
        for _ in range(16):
            step()
            session.step()
    for _ in range(50):  # after
        loss = step()
    with open(os.path.join(folder, "events.json"), "w", encoding="utf-8") as file:
        json.dump(counted, file, indent=0, sort_keys=True)
    print("%d sessions, loss %.6f" % (len(counted), float(loss)))


if __name__ == "__main__":
    main()
