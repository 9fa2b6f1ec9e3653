# SPDX-License-Identifier: Apache-2.0
"""Switches the observer (argv[1]: liboperators_harness.so) argv[2] times while threads train and
raise exceptions; tells what became of them on stdout, one `name: value` a line."""

import ctypes
import gc
import json
import sys
import tempfile
import threading

import torch

STEPS_COMPARED = 50
ROUNDS = 20
library = ctypes.CDLL(sys.argv[1])
library.operators_switch.argtypes = [ctypes.c_ulong, ctypes.c_uint]
TIMES = int(sys.argv[2])


class Worker(threading.Thread):
    """Trains until it is stopped, at least so long that its first losses can be compared."""

    def __init__(self, seed, stopped):
        super().__init__()
        self.steps, self.refused, self.losses, self.stopped = 0, 0, [], stopped
        generator = torch.Generator().manual_seed(seed)
        self.weights = [torch.randn(8, 8, generator=generator, requires_grad=True)
                        for _ in range(2)]
        self.data = torch.randn(4, 8, generator=generator)

    def step(self):
        with torch.profiler.record_function("step"):
            loss = torch.cat([self.data @ self.weights[0]]).relu().mm(self.weights[1]).pow(2).mean()
            loss.backward()
        with torch.no_grad():
            for weight in self.weights:
                weight -= 0.01 * weight.grad
                weight.grad = None
        if len(self.losses) < STEPS_COMPARED:
            self.losses.append(loss.item())
        try:
            torch.mm(self.data, self.data)
        except RuntimeError:
            self.refused += 1
        self.steps += 1

    def run(self):
        while self.steps < STEPS_COMPARED or not self.stopped.is_set():
            self.step()


def rows():
    with tempfile.NamedTemporaryFile() as file:
        library.operators_write(file.name.encode())
        return [json.loads(line) for line in open(file.name, encoding="utf-8")]


def resident_kb():
    gc.collect()
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * 4


def started(stopped):
    workers = [Worker(seed, stopped) for seed in range(4)]
    for worker in workers:
        worker.start()
    return workers


def alone():
    """The losses without an observer."""
    stopped = threading.Event()
    stopped.set()
    workers = started(stopped)
    for worker in workers:
        worker.join()
    return [worker.losses for worker in workers]


def main():
    torch.set_num_threads(1)
    wanted = alone()
    stopped = threading.Event()
    workers = started(stopped)
    resident = []
    for part in range(ROUNDS):
        library.operators_switch(TIMES // ROUNDS, part + 1)
        resident.append(resident_kb())
    stopped.set()
    for worker in workers:
        worker.join()
    print("switches:", TIMES // ROUNDS * ROUNDS)
    print("steps:", sum(worker.steps for worker in workers))
    print("refused:", sum(worker.refused for worker in workers))
    print("losses changed:", sum(worker.losses != w for worker, w in zip(workers, wanted)))
    print("resident kB after a tenth and at the end:", resident[1], resident[-1])
    library.operators_on(2, 7)
    library.operators_forget()
    torch.mm(torch.ones(2, 3), torch.ones(3, 2))
    print("operators while it is on:", sum(row.get("name") == "aten::mm" for row in rows()))
    print("ends without a begin in their thread:", sum(row.get("end") == 0 for row in rows()))
    library.operators_off()
    library.operators_forget()
    torch.mm(torch.ones(2, 3), torch.ones(3, 2))
    print("operators after the end:", sum("name" in row for row in rows()))


if __name__ == "__main__":
    main()
