# SPDX-License-Identifier: Apache-2.0
"""Operators without PyTorch: each call tells the library given on the command line."""

import ctypes
import functools
import sys

LIBRARY = ctypes.CDLL(sys.argv[1])
LIBRARY.probe_mark.argtypes = [ctypes.c_char_p]
PROGRAMS = []


def program(function):
    """Returns {name of a loop: how often it goes round}."""
    PROGRAMS.append(function)
    return function


def operator(name):
    return functools.partial(LIBRARY.probe_mark, name.encode())


mm, relu, loss, grad, step, zero, add = (
    operator(name) for name in ("mm", "relu", "loss", "grad", "step", "zero", "add"))


def forward():
    mm()
    relu()


def train_step():
    forward()
    loss()
    grad()
    step()


def train_epoch():
    for _ in range(5):  # loop: train
        train_step()


def evaluate():
    for _ in range(4):  # loop: evaluate
        forward()
