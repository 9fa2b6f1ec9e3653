# SPDX-License-Identifier: Apache-2.0
"""Recordings of the small training beside this file, and what `gpuprof diff` says of two."""

import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(0, os.path.join(HERE, "..", "torch"))
import e2e  # noqa: E402
import torch_programs  # noqa: E402

TRAINING = os.path.join(HERE, "programs", "small_training.py")


def record(folder, name, *arguments, options=()):
    """One run of the training under gpuprof; the folder of its trace."""
    path = os.path.join(folder, name)
    done = torch_programs.under(["-o", path, *options],
                                [torch_programs.python_with_torch(), TRAINING, *arguments])
    if done.returncode != 0 or not glob.glob(os.path.join(path, "*.pt.trace.json.gz")):
        print(done.stderr.decode(errors="replace"))
        raise RuntimeError("nothing was recorded in " + path)
    return path


def diff(*words):
    return subprocess.run([e2e.GPUPROF, "diff", *words], capture_output=True, timeout=120)


def compared(before, after, *words):
    """The only process of the two, as JSON says it."""
    done = diff("--json", before, after, *words)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return json.loads(done.stdout)["processes"][0]


def claims(process, member="significant"):
    """What is claimed of one process, or `seen_once`: names, metrics, devices of memory."""
    found = [row["name"] for row in process["names"] if row[member]]
    found += [name for name, row in process["metrics"].items() if row[member]]
    return found + ["memory of %d" % row["device"] for row in process["memory"] if row[member]]
