# SPDX-License-Identifier: Apache-2.0
"""Says things on both streams, some through PyTorch, and ends with a status of its own."""

import sys
import warnings

import torch

x = torch.ones(3, requires_grad=True)
y = x * 2
print(y.grad)  # PyTorch warns: not a leaf
warnings.warn("of the program's own")
kept = [torch.randn(100) for _ in range(50)]
del kept[::2]
try:
    torch.mm(torch.ones(2, 3), torch.ones(2, 3))
except RuntimeError as error:
    print("refused:", str(error).splitlines()[0], file=sys.stderr)
for i in range(200):
    y = (x * i).sum()
    y.backward()
print("%.1f" % float(x.grad.sum()))
sys.exit(3)
