# SPDX-License-Identifier: Apache-2.0
"""Switches the observer (argv[1]: liboperators_harness.so) while threads run operators."""

import ctypes
import json
import random
import sys
import tempfile
import threading
import time

import torch

SECONDS = 8
library = ctypes.CDLL(sys.argv[1])


class Worker(threading.Thread):
    def __init__(self):
        super().__init__()
        self.steps, self.stopped = 0, False

    def run(self):
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        data = torch.randn(4, 8)
        while not self.stopped:
            model(data).sum().backward()
            torch.cat([data, data])
            try:
                torch.mm(data, data)
            except RuntimeError:
                self.steps += 1


def rows():
    with tempfile.NamedTemporaryFile() as file:
        library.operators_write(file.name.encode())
        return [json.loads(line) for line in open(file.name, encoding="utf-8")]


def switch(workers):
    end, switches, choice = time.monotonic() + SECONDS, 0, random.Random(1)
    while time.monotonic() < end:
        library.operators_on(choice.choice([1, 2]), choice.randrange(8))
        if switches % 3 == 0:
            library.operators_off()
        if switches % 50 == 0:
            library.operators_forget()
        switches += 1
    for worker in workers:
        worker.stopped = True
    for worker in workers:
        worker.join()
    return switches


def main():
    torch.set_num_threads(1)
    workers = [Worker() for _ in range(4)]
    for worker in workers:
        worker.start()
    print("switches:", switch(workers))
    print("steps:", sum(worker.steps for worker in workers))
    library.operators_on(2, 7)
    library.operators_forget()
    torch.mm(torch.ones(2, 3), torch.ones(3, 2))
    print("ends without a begin in their thread:", sum(row.get("end") == 0 for row in rows()))
    library.operators_off()
    library.operators_forget()
    torch.mm(torch.ones(2, 3), torch.ones(3, 2))
    print("operators after the end:", sum("name" in row for row in rows()))


if __name__ == "__main__":
    main()
