# SPDX-License-Identifier: Apache-2.0
"""Runs every script of the zoo many times, under gpuprof or without, and counts what failed. Asks
only for the exit status and, under gpuprof, for a trace of each process; the oracle looks at what
the traces say.

usage: zoo_runs.py [--runs N] [--plain] [--only NAME[,NAME]] [--keep FOLDER] [--python PATH]
Prints one line a script: runs, failures, how often each outcome came, median of the wall time."""

import argparse
import collections
import glob
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import torch_runs  # noqa: E402
from oracle_test import ZOO  # noqa: E402
from run import e2e, sim  # noqa: E402

TIMEOUT = 300
SENTENCE = "%-17s %3d runs %3d failed  %6.1f s  %s"


def command(python, folder, name, plain):
    case = ZOO[name]
    script = torch_runs.script(python, folder, case.script, ["--steps", str(case.steps)],
                               case.ranks, wrapped=False)
    simulated = [sim.GPUSIM_RUN, "--quiet", "--devices", str(case.devices), "--", *script]
    return simulated if plain else [e2e.GPUPROF, "run", "-o", os.path.join(folder, "traces"),
                                    "--", *simulated]


def output(folder):
    with open(os.path.join(folder, "output.txt"), encoding="utf-8", errors="replace") as log:
        return log.read()


def outcome(folder, name, plain, status):
    """What became of one run, in a word or two."""
    if status:
        return "status %d%s" % (status, " (PyTorch's end)" * (torch_runs.BAD_END in output(folder)))
    pids = {os.path.basename(path).rsplit("_", 1)[-1].split(".")[0] for path in
            glob.glob(os.path.join(folder, "traces", "*.pt.trace.json*"))}
    wanted = 0 if plain else max(1, ZOO[name].ranks)
    return "ok" if len(pids) >= wanted else "%d of %d traces" % (len(pids), wanted)


def run_once(python, folder, name, plain):
    """(outcome, seconds) of one run; its output stays in `folder` if it failed."""
    os.makedirs(folder)
    begin = time.monotonic()
    with open(os.path.join(folder, "output.txt"), "w", encoding="utf-8") as log:
        try:
            status = subprocess.run(command(python, folder, name, plain), stdout=log, stderr=log,
                                    stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                                    env={**os.environ, **torch_runs.environment()}).returncode
            result = outcome(folder, name, plain, status)
        except subprocess.TimeoutExpired:
            result = "timeout"
    seconds = time.monotonic() - begin
    if result == "ok":
        shutil.rmtree(folder)
    else:
        print("%s: %s: %s" % (name, result, output(folder)[-1500:]), file=sys.stderr, flush=True)
    return result, seconds


def repeat(python, folder, name, plain, runs):
    """Number of failed runs of one script, after a line about all of them."""
    done = [run_once(python, os.path.join(folder, "%s.%d" % (name, turn)), name, plain)
            for turn in range(runs)]
    counts = collections.Counter(result for result, _ in done)
    failed = runs - counts["ok"]
    print(SENTENCE % (name, runs, failed, statistics.median(seconds for _, seconds in done),
                      ", ".join("%d x %s" % (n, result) for result, n in counts.most_common())),
          flush=True)
    return failed


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="run each script so often (10)")
    parser.add_argument("--plain", action="store_true", help="without gpuprof")
    parser.add_argument("--only", default=",".join(ZOO), help="these scripts, separated by commas")
    parser.add_argument("--keep", help="leave what failed runs wrote in this new folder")
    parser.add_argument("--python", help="the interpreter with PyTorch")
    wanted = parser.parse_args()
    unknown = [name for name in wanted.only.split(",") if name not in ZOO]
    if unknown or wanted.runs < 1:
        parser.error("no script named %s; there are: %s" % (", ".join(unknown), ", ".join(ZOO))
                     if unknown else "--runs takes a number from 1 on")
    return wanted


def main():
    wanted = arguments()
    python = torch_runs.require_torch(wanted.python)
    with e2e.Folder("zoo_runs") as folder:
        failed = sum(repeat(python, wanted.keep or folder, name, wanted.plain, wanted.runs)
                     for name in wanted.only.split(","))
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
