#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long after the program's end `gpuprof run` is back, for a training on the simulated GPU of
many events, against what is allowed (2 s and half a second a million) and the same program alone.

usage: return_bench.py [--build FOLDER] [--millions N ...] [--times N]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What one step of the trainer leaves in a trace is measured, not assumed.
PROBE_STEPS = 2000


def trainer(build, steps):
    programs = os.path.join(build, "simgpu", "bin")
    return [os.path.join(programs, "gpusim-run"), "--quiet", "--api-cost", "0us", "--time-scale",
            "0.01", "--", os.path.join(programs, "sim_trainer"), "--steps", str(steps), "--host-ms",
            "0"]


def profiled(build, steps, folder):
    """(events, drops, seconds from the program's end to the return, whole seconds)."""
    ended = os.path.join(folder, "ended")
    summary = os.path.join(folder, "summary.json")
    command = ["sh", "-c", '"$@" >/dev/null; date +%s.%N > "$0"', ended] + trainer(build, steps)
    began = time.time()
    subprocess.run([os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "--summary-json", summary,
                    "-o", os.path.join(folder, "traces"), "--"] + command, check=True)
    back = time.time()
    with open(summary, encoding="utf-8") as file:
        told = json.load(file)
    with open(ended, encoding="utf-8") as file:
        end = float(file.read())
    drops = sum(told.get("drops_by_reason", {}).values())
    return sum(told["events_by_kind"].values()), drops, back - end, back - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--millions", type=float, nargs="*", default=[1, 10])
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        a_step = profiled(args.build, PROBE_STEPS, folder)[0] / PROBE_STEPS
    print("one step: %.1f events" % a_step)
    for millions in args.millions:
        steps = int(millions * 1e6 / a_step)
        began = time.time()
        subprocess.run(trainer(args.build, steps), stdout=subprocess.DEVNULL, check=True)
        alone = time.time() - began
        returns = []
        for _ in range(args.times):
            with tempfile.TemporaryDirectory() as folder:
                events, drops, after, whole = profiled(args.build, steps, folder)
            returns.append(after)
            print("%.2f M events (%d dropped), program %.1f s alone, %.1f s with all: back %.2f s "
                  "after its end" % (events / 1e6, drops, alone, whole, after), flush=True)
        print("%g M events: back after %.2f s (%.2f to %.2f), allowed %.2f s" % (
            millions, statistics.median(returns), min(returns), max(returns), 2 + millions / 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
