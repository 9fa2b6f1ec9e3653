# SPDX-License-Identifier: Apache-2.0
"""make_graphed_callables: forward and backward as graphs, the optimizer beside them."""
import torch
from torch import nn
body = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64)).cuda()
head = nn.Linear(64, 1).cuda()
x = torch.randn(32, 128, device="cuda")
body = torch.cuda.make_graphed_callables(body, (x,))
opt = torch.optim.SGD(list(body.parameters()) + list(head.parameters()), lr=0.01)
for step in range(25):
    opt.zero_grad(set_to_none=True)
    head(body(x)).sum().backward()
    opt.step()
print("done")
