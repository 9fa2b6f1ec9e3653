# SPDX-License-Identifier: Apache-2.0
"""Operators, memory and modules of one and the same run, by torch.profiler and by gpuprof: no difference.

usage: operators_test.py [--only MODEL,…] [--modes shapes,stack] [--device cpu|cuda] [--python PATH]
                         [--keep FOLDER]
  --device cuda   on the simulated GPU: the operator of every kernel as well"""

import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "simgpu", "oracle"))
import differences  # noqa: E402
import e2e  # noqa: E402
import sim  # noqa: E402
import torch_runs  # noqa: E402
import torch_trace  # noqa: E402
from torch_python import python_with_torch  # noqa: E402

MODELS = ("mlp", "conv", "transformer", "scalars", "dynamic")
PROGRAMS = {"scalars": "scalars.py", "dynamic": "dynamic.py"}
WHOLE = ["--span-size", "100000000"]
SHARE = 0.999  # of the kernels must have torch.profiler's operator


def start(python, model, mode, folder, device="cpu", under=True):
    """One run with both sources; returns the CompletedProcess."""
    command = [python, os.path.join(HERE, "wrap.py"), folder, mode,
               os.path.join(HERE, "programs", PROGRAMS.get(model, "models.py")), model, "--device", device]
    environment = dict(os.environ, **torch_runs.environment())
    if device == "cuda":
        command = [sim.GPUSIM_RUN, "--cupti", "per-client", "--quiet", "--"] + command
    else:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
    if under:
        return e2e.gpuprof(["-o", os.path.join(folder, "out"), *WHOLE], command, env=environment,
                           timeout=600)
    return subprocess.run(command, env=environment, check=True, capture_output=True, timeout=600)


def read_reference(folder):
    """torch.profiler's trace and the moments between which it was on."""
    with open(os.path.join(folder, "window.json"), encoding="utf-8") as file:
        window = json.load(file)
    trace = torch_trace.read_kineto(os.path.join(folder, "kineto.json"), window["ahead_ns"])
    return trace, window


def check(checks, name, mode, done, folder):
    if not checks.equal(done.returncode, 0, "%s: %s" % (name, done.stderr.decode()[-1500:])):
        return
    reference, window = read_reference(folder)
    paths = e2e.traces(os.path.join(folder, "out"))
    if not checks.equal(len(paths), 1, name + ": files"):
        return
    recorded = differences.remove_library_ranges(
        differences.within(torch_trace.read_gpuprof(paths), window["begin_ns"], window["end_ns"]))
    checks.expect(reference.operators and reference.memory, name + ": torch.profiler saw something")
    results = {"crossing": differences.remove_crossing(reference, recorded),
               "operators": differences.operators(reference, recorded), "numbers": differences.sequence_numbers(recorded),
               "memory": differences.memory(reference, recorded)}
    # Without nanoseconds (PyTorch 2.1) what encloses what cannot be told from torch.profiler's trace.
    if mode == "stack" and not results["operators"] and reference.exact:
        results["modules"] = differences.modules(reference, recorded)
    for what, wrong in results.items():
        checks.expect(not wrong, "%s, %s: %s" % (name, what, "\n    ".join(wrong)))
    line = "%s: %d operators, %d records of memory" % (name, len(reference.operators),
                                                       len(reference.memory))
    if reference.kernels:
        wrong, share, count = differences.kernels(reference, recorded)
        checks.expect(share >= SHARE, "%s: %.2f %% of %d kernels have the same operator\n    %s"
                      % (name, 100 * share, count, "\n    ".join(wrong)))
        line += ", %d kernels (%.2f %%)" % (count, 100 * share)
    print("%s: %s" % (line, "; ".join(w for v in results.values() for w in v[:1]) or "equal"),
          flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(MODELS))
    parser.add_argument("--modes", default="shapes,stack")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--python")
    parser.add_argument("--keep", help="leave all traces in this folder")
    return parser.parse_args()


def main():
    wanted = arguments()
    python = (torch_runs.require_torch(wanted.python) if wanted.device == "cuda"
              else python_with_torch(wanted.python))
    checks = e2e.Checks()
    with e2e.Folder("torch-oracle") as folder:
        for model in wanted.only.split(","):
            for mode in wanted.modes.split(","):
                name = "%s-%s-%s" % (model, mode, wanted.device)
                directory = os.path.join(wanted.keep or folder, name)
                os.makedirs(directory, exist_ok=True)
                done = start(python, model, mode, directory, wanted.device)
                check(checks, name, mode, done, directory)
        if checks.failed and not wanted.keep:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
