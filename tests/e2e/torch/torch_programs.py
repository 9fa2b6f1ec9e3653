# SPDX-License-Identifier: Apache-2.0
"""The PyTorch programs beside this file: how to run them, with and without gpuprof."""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import e2e  # noqa: E402
from torch_python import python_with_torch  # noqa: E402

PROGRAMS = os.path.join(HERE, "programs")
# Windows that open and close all the time, inside whatever the program does.
MANY_WINDOWS = ["--wait", "150ms", "--active", "150ms", "--repeat", "0"]


def command(python, program, *arguments):
    return [python, os.path.join(PROGRAMS, program), *arguments]


def environment():
    return dict(os.environ, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")


def run_plain(line):
    return subprocess.run(line, env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=600)


def run_profiled(options, line):
    """Quietly under gpuprof: what stands on stderr is the program's."""
    return e2e.gpuprof(["-q", *options], line, env=environment(), timeout=600)


def parse_pairs(text):
    """What a program wrote, without dates, process numbers and addresses."""
    text = re.sub(r"\[([WE])\d{4} [\d:.]+ (?:\d+ )?", r"[\1 ", text.decode(errors="replace"))
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+", "(when)", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text)
