# SPDX-License-Identifier: Apache-2.0
"""Gradient accumulation by four.

usage: accumulate.py nested|flat|slowly|map
  nested  updates x micro-batches, as in the trainers: the update is the step
  flat    one loop with a remainder of two at its end: its iteration is the step
  slowly  the same as nested, and the first update comes late
  map     micro-batches through map(): the update is the step"""

import sys
import time

import torch

import parts
import truth


def main():
    model = parts.mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = [parts.batch() for _ in range(4)]

    def micro(batch):
        x, y = batch
        loss = parts.loss_of(model(x), y) / 4
        loss.backward()
        return loss.detach()

    def nested(updates=12, pause=0):
        for _ in range(updates):
            with truth.step:
                for batch in batches:
                    micro(batch)
                    time.sleep(pause)
                optimizer.step()
                optimizer.zero_grad()

    def flat():
        for i in range(4 * 7 + 2):
            with truth.step:
                x, y = batches[i % 4]
                loss = parts.loss_of(model(x), y) / 4
                loss.backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()

    def by_map():
        for _ in range(12):
            with truth.step:
                list(map(micro, batches))
                optimizer.step()
                optimizer.zero_grad()

    {"nested": nested, "flat": flat, "slowly": lambda: nested(4, 1.8), "map": by_map}[sys.argv[1]]()


if __name__ == "__main__":
    main()
