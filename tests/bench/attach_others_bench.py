#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a running Python program stands still when a tool comes to it: gpuprof, py-spy, memray.

Each target is a fresh process that computes and looks at the clock all the time; printed of each tool are the
longest gap the target saw while the tool's command ran (p50, p95, max) and how long the command took. `nothing`
is the same target with nobody: what the machine itself does. gpuprof records for 200 ms; of its command the time
beyond that counts.

usage: attach_others_bench.py GPUPROF PYTHON [--targets N] [--tools nothing,gpuprof,py-spy,memray]

py-spy and memray are looked for beside PYTHON; a tool that is not there, or fails here, says so."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

RECORD_S = 0.2


def program():
    """The target: prints `ready`; at each line on stdin the longest gap since the last one, in ns."""
    import select
    print("ready", flush=True)
    longest, last, turns = 0, time.perf_counter_ns(), 0
    while True:
        sum(range(200))
        now = time.perf_counter_ns()
        longest, last, turns = max(longest, now - last), now, turns + 1
        if turns % 500 == 0 and select.select([0], [], [], 0)[0]:
            if not sys.stdin.readline():
                return
            print(longest, flush=True)
            longest, last = 0, time.perf_counter_ns()


def command_of(tool, options, pid, folder):
    beside = os.path.dirname(os.path.abspath(options.python))
    if tool == "gpuprof":
        return [options.gpuprof, "attach", str(pid), "-q", "-d", "%dms" % (RECORD_S * 1000), "-o", folder]
    if tool == "py-spy":
        return [beside + "/py-spy", "dump", "--pid", str(pid)]
    return [options.python, "-m", "memray", "attach", "-o", folder + "/memray.bin", str(pid)]


def one(tool, options):
    """(gap in ns, command in ns, whether it worked) of one fresh target."""
    with tempfile.TemporaryDirectory() as folder:
        target = subprocess.Popen([options.python, os.path.abspath(__file__), "--program"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        target.stdout.readline()
        time.sleep(0.2)

        def gap():
            target.stdin.write("\n")
            target.stdin.flush()
            return int(target.stdout.readline())
        gap()
        began, good = time.perf_counter_ns(), True
        if tool == "nothing":
            time.sleep(RECORD_S)
        else:
            done = subprocess.run(command_of(tool, options, target.pid, folder), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=60)
            good = done.returncode == 0
        took = time.perf_counter_ns() - began
        longest = gap()
        target.stdin.close()
        good = target.wait(10) == 0 and good
        return longest, took - (int(RECORD_S * 1e9) if tool in ("gpuprof", "nothing") else 0), good


def spread_ms(values):
    ordered = sorted(values)
    pick = lambda share: ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1e6
    return "p50 %.2f, p95 %.2f, max %.2f ms" % (statistics.median(ordered) / 1e6, pick(0.95), ordered[-1] / 1e6)


def main():
    if sys.argv[1:] == ["--program"]:
        return program()
    parser = argparse.ArgumentParser()
    parser.add_argument("gpuprof")
    parser.add_argument("python")
    parser.add_argument("--targets", type=int, default=40)
    parser.add_argument("--tools", default="nothing,gpuprof,py-spy,memray")
    options = parser.parse_args()
    tools = options.tools.split(",")
    results = {tool: [] for tool in tools}
    for _ in range(options.targets):
        for tool in tools:  # in turns: what else happens here happens to all of them
            try:
                results[tool].append(one(tool, options))
            except (OSError, subprocess.TimeoutExpired) as failure:
                print("%s: %s" % (tool, failure), file=sys.stderr)
                tools = [name for name in tools if name != tool]
                break
    for tool, of_tool in results.items():
        good = [result for result in of_tool if result[2]]
        if not good:
            print("%-8s did not work on any of %d targets" % (tool, len(of_tool)))
            continue
        print("%-8s stands still: %s; command: %s; %d of %d targets" %
              (tool, spread_ms([gap for gap, _, _ in good]), spread_ms([took for _, took, _ in good]), len(good),
               len(of_tool)))
    print("load %.1f of %d processors" % (os.getloadavg()[0], os.cpu_count()))
    return 0


sys.exit(main())
