# SPDX-License-Identifier: Apache-2.0
"""Runs the sample training program on the simulated GPU under gpuprof."""

import os
import re
import shutil
import subprocess

import e2e

TRAINER = os.path.join(e2e.SIMGPU, "sim_trainer")
GPUSIM_RUN = os.path.join(e2e.SIMGPU, "gpusim-run")


# What a summary says where threads of gpuprof had no processor when the program began, and later.
LATE = "continued before recording began|had not begun to record|did not begin to record|CUPTI was enabled late"
STARVED = re.compile((LATE + "|final flush did not finish|no CUPTI buffer left|lost because a ring buffer was full").encode())
TRIES = 5


def require_build():
    for path in (TRAINER, GPUSIM_RUN, e2e.GPUPROF, e2e.GPUPROFD, e2e.LIBRARY):
        if not os.path.exists(path):
            e2e.skip("not built: " + path)


def simulated(trainer_args, sim_args=()):
    """Command of the trainer on the simulated GPU."""
    return [GPUSIM_RUN, *sim_args, "--", TRAINER, *trainer_args]


def run(run_args, trainer_args, sim_args=(), env=None, **keywords):
    full = dict(os.environ, GPUSIM_QUIET="1", **(env or {}))
    return e2e.gpuprof(run_args, simulated(trainer_args, sim_args), env=full, **keywords)


def run_whole(out, run_args, trainer_args, sim_args=(), **keywords):
    """run() into a folder, again while the summary reports missing data because gpuprof got no processor."""
    for number in range(TRIES):
        if number:
            shutil.rmtree(out, ignore_errors=True)
        result = run(["-o", out, *run_args], trainer_args, sim_args, **keywords)
        if not STARVED.search(result.stderr):
            break
    return result


def run_plain(trainer_args, sim_args=(), env=None):
    full = dict(os.environ, GPUSIM_QUIET="1", **(env or {}))
    return subprocess.run(simulated(trainer_args, sim_args), env=full, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=600)
