# SPDX-License-Identifier: Apache-2.0
"""Nothing of CUPTI's is said to be silent where nothing is: short windows, one after the other, of trainings, graphs, long kernels,
threads that do not wait, launches at full speed, forks; and of PyTorch's programs. In none of them CUPTI's own records of
calls have to stand in for our callbacks.

usage: silence_test.py [--windows N] [--torch] [--python PATH]"""

import argparse
import json
import os
import sys

import e2e
import sim

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import torch_runs  # noqa: E402

SILENT = ("CUPTI delivers no", "CUPTI delivered no")
STEPS = ("--step", "nvtx:step", "--wait", "1", "--active", "2")
TIMES = ("--wait", "20ms", "--active", "40ms")
STORM = os.path.join(e2e.SIMGPU, "sim_storm")
# name: (share of the windows, how they are laid, the trainer's options, gpusim-run's options)
TRAININGS = {
    "training": (0.3, ["--step-ms", "4"], []),
    "graphs": (0.15, ["--step-ms", "4", "--graph-nodes", "20"], []),
    "threads that do not wait": (0.15, ["--threads", "8", "--no-sync", "--step-ms", "4"], []),
    "forks": (0.1, ["--step-ms", "4", "--helpers", "4", "--helpers-late"], []),
    "long kernels": (0.05, ["--kernels", "2", "--memsets", "0"], ["--kernel-time", "300ms"]),
}
ZOO = ("mlp.py", "transformer_sdpa.py", "cuda_graph.py", "lstm.py")


def run(folder, options, command, env=None):
    """(number of windows, what is reported about silence, what says which records of calls were taken)."""
    summary = os.path.join(folder, "summary.json")
    done = e2e.gpuprof(["-q", "-o", os.path.join(folder, "out"), "--summary-json", summary, *options], command,
                       env=dict(os.environ, GPUSIM_QUIET="1", **(env or {})), timeout=1500)
    with open(summary, encoding="utf-8") as file:
        results = json.load(file)
    heads = [e2e.load(path)["gpuprof"] for path in e2e.traces(os.path.join(folder, "out"))]
    messages = [text for text in results["missing"] if text.startswith(SILENT)]
    ways = {head["facts"]["cupti_calls"] for head in heads if "cupti_calls" in head["facts"]}
    kernels = sum(head["events"].get("kernels", 0) for head in heads)
    return done, len(results["windows"]), messages, ways, kernels


def check_run(checks, name, options, command, wanted, env=None):
    with e2e.Folder("silence") as folder:
        done, windows, messages, ways, kernels = run(folder, [*options, "--repeat", str(wanted)], command, env)
    print("  %s: %d windows, %d kernels, %s" % (name, windows, kernels, messages + sorted(ways) or "nothing is silent"))
    checks.equal(done.returncode, 0, name + ": " + done.stderr.decode()[-600:])
    checks.equal(messages, [], name + ": nothing is silent")
    checks.expect(windows > 0 and kernels > 0, "%s: %d windows, %d kernels" % (name, windows, kernels))
    # Our threads may have got no processor for half a second.
    checks.in_time(not ways, "%s: callbacks are heard: %s" % (name, ways))
    return windows


def trainings(checks, windows):
    seen = 0
    for name, (share, options, simulated) in TRAININGS.items():
        wanted = max(2, round(windows * share))
        command = sim.simulated(["--steps", str(3 * wanted + 3), "--host-ms", "0", *options], ["--quiet", *simulated])
        seen += check_run(checks, name, STEPS, command, wanted)
    wanted = max(2, round(windows * 0.25))
    launches = str(20_000 * wanted)
    command = [sim.GPUSIM_RUN, "--quiet", "--kernel-time", "500ns", "--", STORM, "--launches", launches, "--streams", "4"]
    return seen + check_run(checks, "launches at full speed", TIMES, command, wanted)


def of_torch(checks, windows, requested):
    python = torch_runs.require_torch(requested)
    seen, wanted = 0, max(2, windows // len(ZOO))
    for name in ZOO:
        with e2e.Folder("silence-" + name) as folder:
            script = torch_runs.script(python, folder, name, ["--steps", str(wanted * 2 + 4)], 1, wrapped=False)
            command = [sim.GPUSIM_RUN, "--quiet", "--", *script]
            seen += check_run(checks, name, ("--wait", "1", "--active", "1"), command, wanted, torch_runs.environment())
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, default=40)
    parser.add_argument("--torch", action="store_true", help="PyTorch's programs instead")
    parser.add_argument("--python")
    wanted = parser.parse_args()
    sim.require_build()
    checks = e2e.Checks()
    windows = of_torch(checks, wanted.windows, wanted.python) if wanted.torch else trainings(checks, wanted.windows)
    print("%d windows" % windows)
    checks.done()


if __name__ == "__main__":
    main()
