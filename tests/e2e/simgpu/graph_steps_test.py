# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs that replay captured CUDA graphs, on the simulated GPU, by `gpuprof run` without an option: every
node is there, and the steps are those that the program makes; with --cuda-graph graph each launch is one event. And
with a schedule.

usage: graph_steps_test.py [--python PATH]"""

import argparse
import collections
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "oracle"))
import torch_runs  # noqa: E402
from read_truth import rows  # noqa: E402
from run import e2e, sim  # noqa: E402

PROGRAMS = {
    # Steps, and what is reported about them.
    os.path.join("zoo", "cuda_graph.py"): (20, r"cuda_graph\.py:\d+ \(replays CUDA graphs\), confidence 95 %"),
    os.path.join("graph_programs", "epochs.py"): (60, r"epochs\.py:\d+ \(replays CUDA graphs\), confidence 95 %"),
    os.path.join("graph_programs", "slow_start.py"): (20, r"slow_start\.py:\d+ \(replays CUDA graphs\), confidence 95 %"),
    os.path.join("graph_programs", "by_batch.py"): (40, r"by_batch\.py:\d+ \(replays CUDA graphs\), confidence 80 %"),
    os.path.join("graph_programs", "callables.py"): (25, r"callables\.py:\d+ \(with Optimizer\.step\), confidence 95 %"),
}


def reference_counts(path):
    """Kernels of graphs, the others, and launches of graphs, as the simulator reports them."""
    count = collections.Counter()
    for row in rows(path):
        if row["t"] == "op" and row["kind"] == "kernel":
            count["nodes" if row["graph_node"] else "kernels"] += 1
        if row["t"] == "api" and "GraphLaunch" in row["name"] and row["domain"] == "runtime":
            count["launches"] += 1
    return count


def record(folder, python, program, *options):
    reference, out = os.path.join(folder, "truth.jsonl"), os.path.join(folder, "out")
    command = [sim.GPUSIM_RUN, "--quiet", "--truth", reference, "--", python, os.path.join(HERE, program)]
    env = {**os.environ, **torch_runs.environment()}
    done = e2e.gpuprof(["-o", out, *options], command, env=env)
    events = [event for path in e2e.traces(out) for event in e2e.load(path)["traceEvents"] if event.get("ph") == "X"]
    return done, reference_counts(reference), events


def is_node(event):
    return event.get("cat") == "kernel" and event["args"].get("graph node id", 0) != 0


def check_nodes(checks, python, program, steps, message):
    with e2e.Folder("graph-steps") as folder:
        done, reference, events = record(folder, python, program)
        summary = done.stderr.decode()
        checks.equal(done.returncode, 0, program + ": " + summary[-900:])
        kernels = [event for event in events if event.get("cat") == "kernel"]
        checks.equal((sum(map(is_node, kernels)), len(kernels)), (reference["nodes"], reference["nodes"] + reference["kernels"]),
                     program + ": nodes, and all kernels")
        checks.expect(reference["nodes"] > 0, program + ": the reference log has nodes")
        found = [event for event in events if event.get("name", "").startswith("ProfilerStep#")]
        checks.equal(len(found), steps, program + ": steps")
        checks.expect(re.search(r"steps: %d iterations of the loop at .*%s" % (steps, message), summary),
                      "%s: what they are: %s" % (program, summary[-900:]))


def check_whole(checks, python):
    program = os.path.join("zoo", "cuda_graph.py")
    with e2e.Folder("graph-whole") as folder:
        done, reference, events = record(folder, python, program, "--cuda-graph", "graph")
        checks.equal(done.returncode, 0, "whole graphs: " + done.stderr.decode()[-900:])
        graphs = [event for event in events if event.get("cat") == "kernel" and event["name"].startswith("CUDA graph")]
        checks.expect(reference["launches"] > 0, "whole graphs: the reference log has launches")
        checks.equal((len(graphs), sum(map(is_node, events))), (reference["launches"], 0), "whole graphs: one event a launch")


def check_counted(checks, python):
    """Steps are only counted when the training is captured and when it replays: the window comes all the same."""
    program = os.path.join("graph_programs", "long_warm_up.py")
    with e2e.Folder("graph-counted") as folder:
        done, _, events = record(folder, python, program, "--wait", "80", "--active", "5", "--repeat", "1")
        summary = done.stderr.decode()
        checks.equal(done.returncode, 0, program + ": " + summary[-900:])
        checks.expect(re.search(r"from step \d+ on iterations of the loop at .*long_warm_up\.py:\d+ \(replays CUDA graphs\)", summary),
                      program + ": what the steps are: " + summary[-900:])
        steps = sorted(int(event["name"].split("#")[1]) for event in events if event.get("name", "").startswith("ProfilerStep#"))
        checks.equal(steps, list(range(81, 86)), program + ": steps of the window")
        checks.expect(sum(map(is_node, events)) > 0, program + ": nodes in them")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python")
    python = torch_runs.require_torch(parser.parse_args().python)
    checks = e2e.Checks()
    for program, (steps, message) in PROGRAMS.items():
        check_nodes(checks, python, program, steps, message)
    check_whole(checks, python)
    check_counted(checks, python)
    checks.done()


if __name__ == "__main__":
    main()
