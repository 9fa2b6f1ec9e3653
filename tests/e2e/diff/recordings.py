# SPDX-License-Identifier: Apache-2.0
"""Recordings of the small training beside this file, and what `gpuprof diff` states about two."""

import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(0, os.path.join(HERE, "..", "torch"))
import e2e  # noqa: E402
import recorded  # noqa: E402
import torch_programs  # noqa: E402

TRAINING = os.path.join(HERE, "programs", "small_training.py")


def record(folder, name, *arguments, options=()):
    """One run of the training under gpuprof; the folder of its trace."""
    path = os.path.join(folder, name)
    done = torch_programs.run_profiled(["-o", path, *options],
                                       [torch_programs.python_with_torch(), TRAINING, *arguments])
    if done.returncode != 0 or not glob.glob(os.path.join(path, "*.pt.trace.json.gz")):
        print(done.stderr.decode(errors="replace"))
        raise RuntimeError("nothing was recorded in " + path)
    return path


STEPS = ("--steps", "40")
# Three equal runs, two with a slower operator, one with another.
RUNS = {"run1": STEPS, "run2": STEPS, "run3": STEPS, "slow1": (*STEPS, "--parts", "22"), "slow2": (*STEPS, "--parts", "22"),
        "more": ("--more", "--steps", "25")}
# Of the simulated GPU: two equal ones, longer copies, more kernels.
GPU_RUNS = {"gpu": (), "gpu_equal": (), "gpu_longer": ("--copy-bytes", "1400000"), "gpu_more": ("--kernels", "32")}


def record_new(folder):
    """{name: folder} of new runs. Operators alone: what is compared, and little to keep."""
    options = ("-r", "0", "--no-with-stack", "--no-record-shapes", "--no-with-modules", "--no-profile-memory")
    return {name: record(folder, name, *words, options=options) for name, words in RUNS.items()}


def load_recorded(folder, names=tuple(RUNS)):
    """The same of the runs under recorded/."""
    return {name: recorded.Session(HERE, name, folder).path for name in names}


def keep(paths):
    for name, path in paths.items():
        recorded.store(HERE, name, e2e.traces(path), {"arguments": {**RUNS, **GPU_RUNS}[name]},
                       torch_programs.python_with_torch())


def diff(*words):
    return subprocess.run([e2e.GPUPROF, "diff", *words], capture_output=True, timeout=e2e.PATIENCE_S)


def compared(before, after, *words):
    """The only process of the two, as JSON says it."""
    done = diff("--json", before, after, *words)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return json.loads(done.stdout)["processes"][0]


def findings(process, member="significant"):
    """What is claimed of one process, or `seen_once`: names, metrics, devices of memory."""
    found = [row["name"] for row in process["names"] if row[member]]
    found += [name for name, row in process["metrics"].items() if row[member]]
    return found + ["memory of %d" % row["device"] for row in process["memory"] if row[member]]
