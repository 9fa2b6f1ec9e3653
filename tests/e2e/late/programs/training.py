# SPDX-License-Identifier: Apache-2.0
"""A training into which the library comes when it has been running for a while.

usage: training.py FOLDER LIBRARY PLAN
PLAN: phases separated by commas: `train:SECONDS`, `profile:SECONDS`, `begin` and `end` of a profiled
phase that others lie inside of, or `load` of the library.
Writes FOLDER/phases.json and FOLDER/session.N.json as simgpu/conflict/own_profiler.py does."""

import ctypes
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["GPUPROF_TEST_SUITE"], "conflict"))
import own_profiler  # noqa: E402
import torch  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402


# Of a phase the main thread computes at least this part, however little of a busy machine it gets.
PART = 0.05


class Training(own_profiler.Training):
    """Takes memory of the device and gives it back, on a stream of its own that was made early."""

    def __init__(self):
        super().__init__()
        self.urgent = torch.cuda.Stream(priority=-1)

    def train(self, seconds):
        with torch.cuda.stream(self.urgent):
            kept = [torch.empty(1 << 20, device="cuda").fill_(1) for _ in range(3)]
            del kept
        until = time.thread_time() + PART * seconds
        super().train(seconds)
        while time.thread_time() < until:
            super().train(seconds)


def load(library):
    told = {"what": "load", "asked_ns": time.monotonic_ns()}
    ctypes.CDLL(library)
    now = time.monotonic_ns()
    told.update(begin_ns=now, end_ns=now, over_ns=now)
    return told


class Session:
    """A session of torch.profiler with memory, around other phases."""

    def __init__(self):
        self.asked_ns = time.monotonic_ns()
        self.profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                                profile_memory=True)
        self.profiler.start()
        torch.cuda.synchronize()
        self.begin_ns = time.monotonic_ns()

    def end(self, path):
        torch.cuda.synchronize()
        told = {"what": "profile", "asked_ns": self.asked_ns, "begin_ns": self.begin_ns,
                "end_ns": time.monotonic_ns(), "trace": path}
        self.profiler.stop()
        told["over_ns"] = time.monotonic_ns()
        self.profiler.export_chrome_trace(path)
        return told


def main():
    folder, library, plan = sys.argv[1:]
    training = Training()
    phases, session = [], None
    for number, text in enumerate(plan.split(",")):
        what, _, seconds = text.partition(":")
        path = os.path.join(folder, "session.%d.json" % number)
        if what == "load":
            phases.append(load(library))
        elif what == "begin":
            session = Session()
        elif what == "end":
            phases.append(session.end(path))
        else:
            phases.append(own_profiler.phase(training, what, float(seconds), path))
    with open(os.path.join(folder, "phases.json"), "w", encoding="utf-8") as file:
        json.dump(phases, file)


if __name__ == "__main__":
    main()
