# SPDX-License-Identifier: Apache-2.0
"""A captured step, replayed in epochs, with an evaluation between them that is not captured."""
import torch
from torch import nn
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 128, device="cuda"), torch.randn(64, 1, device="cuda")
side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(11):
        opt.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
torch.cuda.current_stream().wait_stream(side)
g = torch.cuda.CUDAGraph()
opt.zero_grad(set_to_none=True)
with torch.cuda.graph(g):
    loss = nn.functional.mse_loss(model(x), y); loss.backward(); opt.step()
for epoch in range(3):
    for step in range(20):
        x.copy_(torch.randn(64, 128)); g.replay()
    with torch.no_grad():
        for _ in range(5): nn.functional.mse_loss(model(x), y).item()
print("done")
