# SPDX-License-Identifier: Apache-2.0
"""A warm-up that is long enough to be taken for the training, then its step captured and replayed."""
import time, torch
from torch import nn
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 128, device="cuda"), torch.randn(64, 1, device="cuda")
side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for warm_up in range(40):
        opt.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
        time.sleep(0.03)
torch.cuda.current_stream().wait_stream(side)
g = torch.cuda.CUDAGraph()
opt.zero_grad(set_to_none=True)
with torch.cuda.graph(g):
    loss = nn.functional.mse_loss(model(x), y); loss.backward(); opt.step()
for step in range(400):
    x.copy_(torch.randn(64, 128)); g.replay()
    time.sleep(0.01)
print("done")
