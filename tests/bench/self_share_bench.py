#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How near the share of a thread's time that gpuprof measures of itself (--max-overhead) is to what a program
loses: the same loop plain and under gpuprof in turn, in CPU time of its thread, which other programs on the
machine change least. Printed: medians of what a step takes more, what was measured, and their quartiles.

usage: self_share_bench.py BUILD [--pairs N] [--seconds S] [--only NAME]

  operators   a PyTorch training of operators of a microsecond each (worst case)
  samples     Python at 1000 samples a second below 60 calls from C"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e", "lib"))
from torch_python import python_with_torch  # noqa: E402

SAMPLED = """
import sys, time
def down(depth, seconds):
    if depth: return max([depth], key=lambda _: down(depth - 1, seconds))
    steps, until, cpu = 0, time.monotonic() + seconds, time.thread_time_ns()
    while time.monotonic() < until:
        sum(range(20000)); steps += 1
    print((time.thread_time_ns() - cpu) / steps)
    return 0
down(60, float(sys.argv[1]))
"""


def programs(seconds):
    torch = python_with_torch()
    operators = os.path.join(HERE, "..", "e2e", "overhead", "programs", "operators.py")
    return {"operators": ([torch, operators, seconds], []),
            "samples": ([sys.executable, "-c", SAMPLED, seconds], ["-r", "1000", "-t", "python,native"])}


def step_ns(ran):
    return float(ran.stdout.split()[-1])


def plain(command):
    return step_ns(subprocess.run(command, capture_output=True, text=True, check=True))


def under(build, options, command, folder):
    """ns a step, and our own share of the process's thread in per cent."""
    summary = os.path.join(folder, "summary.json")
    ran = subprocess.run([os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "-o", os.path.join(folder, "out"),
                          "--max-overhead", "50%", *options, "--summary-json", summary, "--", *command],
                         capture_output=True, text=True, check=True)
    with open(summary, encoding="utf-8") as file:
        told = json.load(file)
    if told["left_out"]:
        sys.exit("more than 50 %: " + told["left_out"][0]["what"])
    # The last second holds the interpreter's end, the worst one the loop.
    return step_ns(ran), told["overhead"]["highest_percent"]


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return "%6.2f %% (%.2f to %.2f)" % (middle, low, high)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", default="3")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    for name, (command, options) in programs(arguments.seconds).items():
        if arguments.only not in (None, name):
            continue
        taken, measured = [], []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(arguments.pairs):
                without = plain(command)
                with_us, share = under(arguments.build, options, command, folder)
                # Of the time with us, as the measured share is.
                taken.append(100 * (with_us - without) / with_us)
                measured.append(share)
        print("%-10s of the thread's CPU time: taken %s, measured %s" % (name, spread(taken), spread(measured)))


if __name__ == "__main__":
    main()
