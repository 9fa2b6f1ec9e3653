# SPDX-License-Identifier: Apache-2.0
"""Short iterations, and a few that are long, each for a reason of its own. Its own clock at the head of
the loop says how long each took.

usage: stalls.py first|loader|middle|after|lock|evaluate|checkpoint|epochs [--steps N] [--stall MS]"""

import argparse
import atexit
import ctypes
import json
import os
import resource
import tempfile
import threading
import time

import torch

import parts

heads, stalled = [], []  # CLOCK_MONOTONIC; numbers of the long ones
switched = []            # how often the kernel had taken the processor away by then
fronts, backs = [], []   # CLOCK_MONOTONIC before the first operator of an iteration, and behind its last one
outside = []             # (begin, end) between two loops
parser = argparse.ArgumentParser()
parser.add_argument("form")
parser.add_argument("--steps", type=int, default=6000)
parser.add_argument("--stall", type=int, default=60)
options = parser.parse_args()
COUNT, SECONDS = options.steps, options.stall / 1e3
STALLS = {COUNT * part // 10 for part in (1, 4, 6, 9)}
model, (x, y) = parts.mlp(), parts.batch()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def write():
    path = os.environ.get("STEP_TRUTH")
    if path and heads:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"heads": heads, "stalled": stalled, "outside": outside, "switched": switched,
                       "fronts": fronts, "backs": backs, "steps": []}, file)


atexit.register(write)


def head():
    """The loop has gone round."""
    heads.append(time.monotonic_ns())
    switched.append(resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw)


def is_long(i):
    if i in STALLS:
        stalled.append(i)
    return i in STALLS


def front():
    fronts.append(time.monotonic_ns())


def back():
    backs.append(time.monotonic_ns())


def train():
    front()
    optimizer.zero_grad()
    loss = parts.loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    back()


def evaluate():
    with torch.no_grad():
        for _ in range(100):
            model(x)


def save():
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"model": model.state_dict(), "rest": torch.zeros(1 << 20)},
                   os.path.join(folder, "model.pt"))


def batches():
    for i in range(COUNT):
        head()
        if is_long(i):
            time.sleep(SECONDS)
        yield x


def first():
    for i in range(COUNT):
        head()
        if is_long(i):
            time.sleep(SECONDS)
        front()
        optimizer.zero_grad()
        loss = parts.loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        back()


def loader():
    for batch in batches():
        front()
        optimizer.zero_grad()
        loss = parts.loss_of(model(batch), y)
        loss.backward()
        optimizer.step()
        back()


def middle():
    for i in range(COUNT):
        head()
        front()
        optimizer.zero_grad()
        loss = parts.loss_of(model(x), y)
        if is_long(i):
            time.sleep(SECONDS)
        loss.backward()
        optimizer.step()
        back()


def after():
    for i in range(COUNT):
        head()
        front()
        optimizer.zero_grad()
        loss = parts.loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        back()
        if is_long(i):
            time.sleep(SECONDS)


def lock():
    """Another thread keeps the interpreter's lock."""
    asked = threading.Event()
    sleep_with_lock = ctypes.PyDLL(None).usleep

    def keeper():
        while asked.wait() and len(heads) < COUNT:
            asked.clear()
            sleep_with_lock(options.stall * 1000)

    threading.Thread(target=keeper, daemon=True).start()
    for i in range(COUNT):
        head()
        if is_long(i):
            asked.set()
        train()


def every(count, what):
    for i in range(COUNT):
        head()
        train()
        if i % count == count - 1:
            stalled.append(i)
            what()


def epochs():
    for _ in range(3):
        for i in range(COUNT // 3):
            head()
            train()
        begin = time.monotonic_ns()
        evaluate()
        save()
        time.sleep(SECONDS * 5)
        outside.append((begin, time.monotonic_ns()))


FORMS = {"first": first, "loader": loader, "middle": middle, "after": after, "lock": lock,
         "evaluate": lambda: every(max(COUNT // 12, 1), evaluate),
         "checkpoint": lambda: every(max(COUNT // 6, 1), save), "epochs": epochs}
FORMS[options.form]()
if options.form != "epochs":
    head()  # the end of the last
