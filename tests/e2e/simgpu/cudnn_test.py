# SPDX-License-Identifier: Apache-2.0
"""Convolutions of PyTorch on the simulated cuDNN: conversions between layouts stand only around
tensors whose channels are not innermost, in both of cuDNN's APIs and in every precision; an RNN
and CTC loss run through cuDNN's own kernels.

usage: cudnn_test.py [--python PATH]"""

import argparse
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import torch_runs  # noqa: E402
from read_truth import rows  # noqa: E402
from run import e2e, sim  # noqa: E402

STEPS = 2
# Three convolutions of 3 x 3; the first needs no gradient of its input.
CONVOLUTIONS = """
import sys, torch
from torch import nn
layout, kind, steps = getattr(torch, sys.argv[1]), getattr(torch, sys.argv[2]), int(sys.argv[3])
model = nn.Sequential(nn.Conv2d(8, 32, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
                      nn.Conv2d(32, 64, 3, bias=False), nn.MaxPool2d(2),
                      nn.Conv2d(64, 64, 3, groups=4, bias=False), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(64, 10)).cuda().to(memory_format=layout)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda", enabled=kind is torch.float16)
x = torch.randn(16, 8, 32, 32, device="cuda").to(memory_format=layout)
y = torch.zeros(16, dtype=torch.long, device="cuda")
for _ in range(steps):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=kind, enabled=kind is not torch.float32):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.cuda.synchronize()
"""
OTHERS = """
import torch
from torch import nn
rnn = nn.LSTM(10, 20, 2, bidirectional=True, dropout=0.3).cuda()
rnn(torch.randn(7, 3, 10, device="cuda"))[0].sum().backward()
gru = nn.GRU(10, 20).cuda().double()
gru(torch.randn(7, 3, 10, device="cuda").double())[0].sum().backward()
scores = torch.randn(20, 4, 9, device="cuda", requires_grad=True).log_softmax(2)
whole = lambda n: torch.full((4,), n, dtype=torch.int32)
nn.functional.ctc_loss(scores, torch.ones(20, dtype=torch.int32), whole(20), whole(5),
                       reduction="sum").backward()
for shape, layer in (((2, 8, 30), nn.Conv1d(8, 16, 3)), ((2, 4, 9, 9, 9), nn.Conv3d(4, 8, 3)),
                     ((2, 8, 9, 9), nn.ConvTranspose2d(8, 4, 3, 2))):
    layer.cuda()(torch.randn(shape, device="cuda", requires_grad=True)).sum().backward()
q = torch.randn(2, 4, 64, 64, device="cuda", dtype=torch.float16, requires_grad=True)
nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
torch.cuda.synchronize()
"""
PARTS = ("nchwToNhwc", "nhwcToNchw", "xmma_fprop", "xmma_dgrad", "xmma_wgrad", "RNN_blockPersist_fp",
         "RNN_blockPersist_bp", "GRU_elementWise_fp", "GRU_elementWise_bp", "ctc_alpha_beta",
         "flash_fprop", "flash_bprop")


def kernels(checks, folder, python, name, program, arguments=(), api="v8"):
    """How many kernels carry each of PARTS in their name; ends the check if the program failed."""
    env = {**os.environ, **torch_runs.environment(),
           "TORCH_CUDNN_V8_API_DISABLED": "0" if api == "v8" else "1"}
    reference = os.path.join(folder, name + ".jsonl")
    done = subprocess.run([sim.GPUSIM_RUN, "--quiet", "--truth", reference, "--", python, "-c",
                           program + torch_runs.SETTLE, *arguments],
                          env=env, capture_output=True, text=True, timeout=600)
    checks.equal(done.returncode, 0, name + ": exit status: " + done.stderr[-600:])
    found = collections.Counter()
    for row in rows(reference) if os.path.exists(reference) else ():
        if row["t"] == "op" and row["kind"] == "kernel":
            found.update(part for part in PARTS if part in row["name"])
    return found


def check_layouts(checks, folder, python, kind, api):
    counts = {}
    for layout in ("contiguous_format", "channels_last"):
        name = "%s-%s-%s" % (kind, layout, api)
        counts[layout] = kernels(checks, folder, python, name, CONVOLUTIONS, [layout, kind, str(STEPS)], api)
        for direction, expected in (("xmma_fprop", 3), ("xmma_dgrad", 2), ("xmma_wgrad", 3)):
            checks.equal(counts[layout][direction], expected * STEPS, name + ": " + direction)
    # Forward 3, input gradient 2, weight gradient 3 convolutions, each of two inputs and one result.
    checks.equal(counts["contiguous_format"]["nchwToNhwc"], 16 * STEPS, kind + ": conversions before")
    checks.equal(counts["contiguous_format"]["nhwcToNchw"], 8 * STEPS, kind + ": conversions after")
    for conversion in ("nchwToNhwc", "nhwcToNchw"):
        checks.equal(counts["channels_last"][conversion], 0, kind + ": channels last needs no " + conversion)


def check_others(checks, folder, python):
    found = kernels(checks, folder, python, "others", OTHERS)
    # PyTorch requests the persistent algorithm in single precision: two layers in two directions.
    checks.equal([found["RNN_blockPersist_fp"], found["RNN_blockPersist_bp"]], [4, 4], "LSTM forward and backward")
    # Step by step in double precision, seven steps.
    checks.equal([found["GRU_elementWise_fp"], found["GRU_elementWise_bp"]], [7, 7], "GRU forward and backward")
    checks.equal(found["ctc_alpha_beta"], 1, "CTC loss")
    for direction in ("xmma_fprop", "xmma_dgrad", "xmma_wgrad"):
        checks.equal(found[direction], 3, "1D, 3D and transposed convolutions: " + direction)
    checks.equal([found["flash_fprop"], found["flash_bprop"]], [1, 1], "attention forward and backward")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python")
    python = torch_runs.require_torch(parser.parse_args().python)
    checks = e2e.Checks()
    with e2e.Folder("cudnn") as folder:
        for kind, api in (("float32", "v8"), ("float16", "v8"), ("bfloat16", "v8"), ("float16", "v7")):
            check_layouts(checks, folder, python, kind, api)
        check_others(checks, folder, python)
    checks.done()


if __name__ == "__main__":
    main()
