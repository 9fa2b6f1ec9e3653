# SPDX-License-Identifier: Apache-2.0
"""A program that profiles itself with a schedule: its own steps are the steps.

usage: user_schedule.py [TRACE]   writes its profiler's trace of the active steps"""

import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule

import parts
import truth


def main():
    model = parts.mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = parts.batch()

    def keep(profiler):
        if len(sys.argv) > 1:
            profiler.export_chrome_trace(sys.argv[1])

    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=keep,
                 schedule=schedule(wait=2, warmup=2, active=8, repeat=1)) as profiler:
        for _ in range(20):
            truth.called(profiler.step_rec_fn.name)  # PyTorch 2.1 calls the first two 0
            with truth.step:
                for _ in range(2):  # the profiler's step is two updates
                    optimizer.zero_grad()
                    loss = parts.loss_of(model(x), y)
                    loss.backward()
                    optimizer.step()
            profiler.step()


if __name__ == "__main__":
    main()
