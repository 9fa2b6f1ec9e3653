# SPDX-License-Identifier: Apache-2.0
"""Each thread runs an operator that no other runs, and tells its number.

Prints `operator thread-id` lines."""

import threading
import time

import torch

OPERATORS = {"main": torch.erf, "first": torch.cos, "second": torch.tan}
CALLS = 200  # on a machine that has less time for it, too


def work(name):
    x = torch.ones(64)
    end, calls = time.monotonic() + 1.0, 0
    while time.monotonic() < end or calls < CALLS:
        OPERATORS[name](x)
        calls += 1
    print("aten::%s %d" % (OPERATORS[name].__name__, threading.get_native_id()), flush=True)


class Pinned(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.ones(4)


def main():
    threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
        thread.join()  # in turn: lines stay whole and in order
    work("main")
    x = torch.ones(8, requires_grad=True)
    for _ in range(100):
        x.asinh().sum().backward()  # on the CPU the calling thread runs the backward


if __name__ == "__main__":
    main()
