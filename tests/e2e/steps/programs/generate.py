# SPDX-License-Identifier: Apache-2.0
"""Generation without any sampler: a `while` in which a model is asked for one token after another.

usage: generate.py plain|module|logged [SECONDS]
  plain    the loop calls the model, takes the best token and appends it
  module   all that is one call of a module
  logged   the same, and every tenth time something is computed for a log
  SECONDS  at least so long (0: 40 tokens)"""

import sys
import time

import torch
from torch import nn

import parts
import truth


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.body = parts.Layers()
        self.head = nn.Linear(4, 50)

    def forward(self, tokens):
        return self.head(self.body(self.embedding(tokens)))


class Appending(Writer):
    def forward(self, tokens):
        best = super().forward(tokens)[:, -1].argmax(-1, keepdim=True)
        return torch.cat([tokens[:, -63:], best], 1)


what = sys.argv[1]
until = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else 0)
model = Writer() if what == "plain" else Appending()
text = torch.tensor([[1]])
count = 0
# Code of a module: it has no local variables.
with torch.no_grad():
    while what == "plain" and (count < 40 or time.monotonic() < until):
        with truth.step:
            scores = model(text)
            text = torch.cat([text[:, -63:], scores[:, -1].argmax(-1, keepdim=True)], 1)
            count += 1
    while what == "module" and (count < 40 or time.monotonic() < until):
        with truth.step:
            text = model(text)
            count += 1
    while what == "logged" and (count < 40 or time.monotonic() < until):
        with truth.step:
            text = model(text)
            count += 1
            if count % 10 == 0:
                print(text.float().mean().item())
