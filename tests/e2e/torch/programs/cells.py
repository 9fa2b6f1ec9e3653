# SPDX-License-Identifier: Apache-2.0
"""Code that is made, run and freed, as cells of a notebook are: in one place of memory, one after
the other. An operator of size K says which code made it; then a range that stays open in Python, and
three training loops, 12 steps each: too few to be
chosen before the program ends."""

import torch


def run(text, file):
    exec(compile(text, file, "exec"), {"torch": torch})


def call(function, *arguments):
    function(*arguments)


for k in range(1, 60):  # another file and line each
    run("\n" * (k - 1) + "torch.ones(%d)" % k, "<cell-%d>" % k)
for k in range(100, 160):  # another line of the same function in the same file
    run("def made():\n" + "\n" * (k - 100) + " torch.ones(%d)\nmade()\n" % k, "made.py")

with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
    quick = torch._C._profiler._RecordFunctionFast("quick")
    call(quick.__enter__)
    call(torch.ones, 200)
    call(torch.ones, 201)  # lines: 200 and 201 one after the other
    quick.__exit__(None, None, None)

names = {"torch": torch, "model": torch.nn.Linear(4, 4), "data": torch.ones(2, 4)}
names["optimizer"] = torch.optim.SGD(names["model"].parameters(), lr=0.1)
for number, empty in enumerate(("\n\n", "", "\n\n\n\n\n"), 1):
    text = empty + ("for i in range(12):\n optimizer.zero_grad()\n"
                    " model(data).sum().backward()\n optimizer.step()\n")
    exec(compile(text, "<train-%d>" % number, "exec"), names)
