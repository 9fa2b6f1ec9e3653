# SPDX-License-Identifier: Apache-2.0
"""Ranges that a future ends on another thread, long after they began, and forked TorchScript.

Prints a line for each range: name, moments (CLOCK_MONOTONIC, ns) before and after it began, before and
after it ended; 0 0 for one that never does."""

import os
import sys
import threading
import time

import torch
from torch.profiler import record_function

torch.set_num_threads(1)
LEAST = 30  # calls, on a machine that has less time for them, too


@torch.jit.script
def part(x: torch.Tensor) -> torch.Tensor:
    for _ in range(20):
        x = x.cos() + 0.5
    return x


@torch.jit.script
def forked(x: torch.Tensor) -> torch.Tensor:
    first = torch.jit.fork(part, x)
    second = torch.jit.fork(part, x + 1.0)
    return torch.jit.wait(first) + torch.jit.wait(second)


class Remote:
    """A call whose answer comes later: what an RPC looks like to the profiler."""

    def __init__(self, name):
        self.name, self.future = name, torch.futures.Future()
        self.moments = [time.monotonic_ns()]
        with record_function(name) as range_:
            self.ended = range_._call_end_callbacks_on_future(self.future)
        self.moments.append(time.monotonic_ns())

    def answer(self):
        self.moments.append(time.monotonic_ns())
        self.future.set_result(torch.ones(1))
        self.moments.append(time.monotonic_ns())

    def __str__(self):
        return "%s %s" % (self.name, " ".join(map(str, (self.moments + [0, 0])[:4])))


def main():
    seconds = float(sys.argv[1])
    end, calls, waiting = time.monotonic() + seconds, [], []
    while time.monotonic() < end or len(calls) < LEAST:
        call = Remote("remote%d" % len(calls))
        calls.append(call)
        waiting.append(call)
        until = time.monotonic() + 0.06
        while time.monotonic() < until:
            forked(torch.ones(4))
            time.sleep(0.002)  # or records are dropped where others compute, too
        if len(waiting) > 6:  # it was open for more than a window
            answers = threading.Thread(target=waiting.pop(0).answer)
            answers.start()
            answers.join()
    for call in calls:
        print(call)
    sys.stdout.flush()
    os._exit(0)  # else the interpreter ends what is open


if __name__ == "__main__":
    main()
