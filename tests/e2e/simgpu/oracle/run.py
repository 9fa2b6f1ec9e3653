# SPDX-License-Identifier: Apache-2.0
"""One run with all sources: the simulator's log, our trace, and PyTorch's profiler if requested."""

import dataclasses
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SUITE = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(SUITE, "..", "lib"))
import e2e  # noqa: E402
import sim  # noqa: E402

import read_trace  # noqa: E402
import read_truth  # noqa: E402

ZOO = os.path.join(SUITE, "zoo")
WRAP = os.path.join(SUITE, "wrap.py")
# One file a process: the oracle looks at whole runs, cuts are tested elsewhere. Graph nodes one by
# one, since that is what the other sources see.
WHOLE = ["--span-size", "100000000", "--cuda-graph", "node"]
ADDRESS_SPACE_KIB = 60_000_000  # a mistake may not eat the machine; half of it is device memory


@dataclasses.dataclass
class Run:
    """What a run left behind, by process id."""
    folder: str
    status: int
    stdout: str
    stderr: str
    reference: dict
    recorded: dict
    kineto: dict
    windows: dict

    def explain(self):
        return "status %d\n%s\n%s" % (self.status, self.stdout[-2000:], self.stderr[-4000:])


def _by_pid(folder, pattern, expression):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, pattern))):
        pid = int(re.search(expression, os.path.basename(path)).group(1))
        found.setdefault(pid, []).append(path)
    return found


def collect(folder, done):
    windows = {}
    for pid, (path,) in _by_pid(folder, "window.*.json", r"window\.(\d+)").items():
        with open(path, encoding="utf-8") as file:
            windows[pid] = json.load(file)
    return Run(folder, done.returncode, done.stdout, done.stderr,
               {p: v[0] for p, v in _by_pid(folder, "truth.*.jsonl", r"truth\.(\d+)").items()},
               _by_pid(os.path.join(folder, "ours"), "*.pt.trace.json*", r"_(\d+)\.\d+\.pt\."),
               {p: v[0] for p, v in _by_pid(folder, "kineto.*.json", r"kineto\.(\d+)").items()},
               windows)


def _clear(folder):
    """Takes away what an earlier run left in a folder that is kept."""
    shutil.rmtree(os.path.join(folder, "ours"), ignore_errors=True)
    for pattern in ("truth.*.jsonl", "kineto.*.json", "window.*.json"):
        for path in glob.glob(os.path.join(folder, pattern)):
            os.unlink(path)


# What a trace says where the program had to go on before we were ready.
STARVED = ("before recording began", "did not begin to record", "had not begun to record")
TRIES = 5


def _was_starved(run):
    return any(words in text for paths in run.recorded.values() for path in paths
               for text in e2e.load(path)["gpuprof"]["missing"] for words in STARVED)


def execute(*arguments, **options):
    """`gpuprof run … -- gpusim-run … -- PROGRAM` with its logs in `folder`: once, and again where a busy machine
    gave us no processor before the program went on."""
    for _ in range(TRIES):
        run = execute_once(*arguments, **options)
        if not _was_starved(run):
            break
    return run


def execute_once(folder, program, sim_args=(), run_args=WHOLE, env=None, timeout=600):
    os.makedirs(folder, exist_ok=True)
    _clear(folder)
    command = [e2e.GPUPROF, "run", "-o", os.path.join(folder, "ours"), *run_args, "--",
               sim.GPUSIM_RUN, *sim_args, "--truth", os.path.join(folder, "truth.%p.jsonl"),
               "--quiet", "--", *program]
    full = dict(os.environ, **(env or {}))
    done = subprocess.run(["bash", "-c", "ulimit -v %d; exec \"$@\"" % ADDRESS_SPACE_KIB, "sh",
                           *command], env=full, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=timeout)
    return collect(folder, done)


def reference_of(run, pid, window=None):
    """Reference log of a process, cut to the profiler's session if one is given; and the ids outside."""
    whole = read_truth.read(run.reference[pid])
    if window is None:
        return whole, set()
    part = read_truth.within(whole, window["begin_ns"], window["end_ns"])
    return part, set(whole.calls) - set(part.calls)


def recorded_of(run, pid):
    return read_trace.read_gpuprof(run.recorded[pid])


def kineto_of(run, pid):
    return read_trace.read_kineto(run.kineto[pid])
