# SPDX-License-Identifier: Apache-2.0
"""A captured step whose few replays are short, behind a warm-up as on a device that takes seconds to start and whose
kernels are loaded in the first iteration: the usual time for looking is over by then."""
import time, torch
from torch import nn
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 128, device="cuda"), torch.randn(64, 1, device="cuda")
time.sleep(5)
side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for warm_up in range(3):
        opt.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x), y).backward()
        if warm_up == 0: time.sleep(0.2)
        opt.step()
torch.cuda.current_stream().wait_stream(side)
g = torch.cuda.CUDAGraph()
opt.zero_grad(set_to_none=True)
with torch.cuda.graph(g):
    loss = nn.functional.mse_loss(model(x), y); loss.backward(); opt.step()
for step in range(20):
    x.copy_(torch.randn(64, 128)); g.replay()
time.sleep(0.5)
print("done")
