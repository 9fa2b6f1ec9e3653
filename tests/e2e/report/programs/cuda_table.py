# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's own tables say of a trace with GPU work: its classes, fed from the file.

usage: cuda_table.py TRACE.json SORT_KEY"""

import collections
import json
import sys

from torch.autograd import DeviceType
from torch.autograd.profiler_util import EventList, FunctionEvent

GPU = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")
HOST = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")


def ns(us):
    return round(us * 1000)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file)["traceEvents"]
    memory = [e for e in trace if e["name"] == "[memory]"]
    events, by_id, of_id = [], {}, collections.defaultdict(list)
    for number, e in enumerate(trace):
        if e.get("cat") not in GPU + HOST:
            continue
        gpu = e["cat"] in GPU
        start, end = ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])
        inside = [m["args"] for m in memory if not gpu and start <= ns(m["ts"]) <= end]
        event = FunctionEvent(
            number, "ProfilerStep*" if e["name"].startswith("ProfilerStep#") else e["name"],
            e["tid"], start / 1000, end / 1000, input_shapes=e["args"].get("Input Dims", []),
            stack=[], use_device="cuda",
            device_type=DeviceType.CUDA if gpu else DeviceType.CPU,
            cpu_memory_usage=sum(m["Bytes"] for m in inside if m["Device Type"] == 0),
            device_memory_usage=sum(m["Bytes"] for m in inside if m["Device Type"] == 1),
            is_user_annotation=e["cat"].endswith("user_annotation"))
        events.append(event)
        if gpu and not event.is_user_annotation:
            of_id[e["args"]["External id"]].append(event)
        elif e["cat"] == "cpu_op":
            by_id[e["args"]["External id"]] = event
    for number, work in of_id.items():
        for event in work:
            by_id[number].append_kernel(event.name, 0,
                                        event.time_range.end - event.time_range.start)
    events.sort(key=lambda e: [e.time_range.start, -e.time_range.end])
    table = EventList(events, use_device="cuda", profile_memory=True)
    table._build_tree()
    print(table.key_averages().table(sort_by=sys.argv[2], row_limit=1000), end="")


if __name__ == "__main__":
    main()
