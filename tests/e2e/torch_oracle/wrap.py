# SPDX-License-Identifier: Apache-2.0
"""Runs a script, unmodified, inside torch.profiler.

usage: wrap.py FOLDER shapes|stack SCRIPT [ARGUMENTS...]
Writes FOLDER/kineto.json and FOLDER/window.json: pid, begin_ns and end_ns of the session on
CLOCK_MONOTONIC, and how far CLOCK_REALTIME was ahead of it. Of several ranks each in FOLDER/RANK."""

import json
import os
import runpy
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile


def main():
    folder, mode, script = sys.argv[1:4]
    if "RANK" in os.environ:
        folder = os.path.join(folder, os.environ["RANK"])
        os.makedirs(folder, exist_ok=True)
    sys.argv = sys.argv[3:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.init()
        activities.append(ProfilerActivity.CUDA)
    session = profile(activities=activities, record_shapes=True, profile_memory=True,
                      with_stack=mode == "stack")
    session.start()
    begin = time.monotonic_ns()
    try:
        runpy.run_path(script, run_name="__main__")
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    finally:
        end = time.monotonic_ns()
        ahead = time.time_ns() - time.monotonic_ns()
        session.stop()
    session.export_chrome_trace(os.path.join(folder, "kineto.json"))
    with open(os.path.join(folder, "window.json"), "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "begin_ns": begin, "end_ns": end, "ahead_ns": ahead}, file)


if __name__ == "__main__":
    main()
