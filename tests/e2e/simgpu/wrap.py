# SPDX-License-Identifier: Apache-2.0
"""Runs a script, unmodified, inside torch.profiler, and notes when the session was on.

usage: wrap.py FOLDER SCRIPT [ARGUMENTS...]
Writes FOLDER/kineto.PID.json (the profiler's trace) and FOLDER/window.PID.json: begin_ns and end_ns
on CLOCK_MONOTONIC, between which everything enqueued belongs to the profiler, and the rank."""

import json
import os
import runpy
import sys
import time

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile


def drain():
    """Waits for the devices that this process has used; uses no other."""
    for device in range(torch.cuda.device_count()):
        if torch._C._cuda_hasPrimaryContext(device):
            torch.cuda.synchronize(device)


def run(script, arguments):
    sys.argv = [script] + arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        return end.code or 0
    return 0


def main():
    folder, script = sys.argv[1:3]
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.init()
    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                       experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True))
    profiler.start()
    drain()
    begin = time.monotonic_ns()
    try:
        status = run(script, sys.argv[3:])
        drain()
    finally:  # PyTorch crashes in its own end if its profiler is still on
        end = time.monotonic_ns()
        profiler.stop()
    profiler.export_chrome_trace(os.path.join(folder, "kineto.%d.json" % os.getpid()))
    with open(os.path.join(folder, "window.%d.json" % os.getpid()), "w", encoding="utf-8") as file:
        json.dump({"begin_ns": begin, "end_ns": end, "rank": int(os.environ.get("RANK", 0))}, file)
    sys.exit(status)


if __name__ == "__main__":
    main()
