# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own threads on the simulated GPU: what the thread that pins memory and autograd's thread
of a device run is on their rows, and a backward node knows its forward operator's thread and module.

usage: gpu_threads_test.py [--keep FOLDER]"""

import argparse
import collections
import os
import sys

import e2e
import torch_programs as programs

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "simgpu", "oracle"))
sys.path.append(os.path.join(HERE, "..", "torch_oracle"))
import differences  # noqa: E402
import sim  # noqa: E402
import torch_runs  # noqa: E402
import torch_trace  # noqa: E402

BATCHES = 12
NODES = {"AddmmBackward0": 3, "TanhBackward0": 2}  # of one step, in modules


def run(python, folder):
    line = [sim.GPUSIM_RUN, "--quiet", "--",
            python, os.path.join(programs.PROGRAMS, "gpu_threads.py")]
    return e2e.gpuprof(["-q", "-f", "-o", folder, "--span-size", "100000000"], line,
                       env=dict(os.environ, **torch_runs.environment()), timeout=600)


def where(trace):
    found = collections.defaultdict(collections.Counter)
    for operator in trace.operators:
        found[operator.name][operator.tid] += 1
    return found


def backward(checks, trace, tids):
    """Every node's thread, its forward operator's, and its module."""
    of_forward = {}
    for row, chain in differences.chains(trace)[tids["main"]]:
        number = row.args.get("Sequence number")
        if number is not None and chain:
            of_forward[number] = chain[-1]
    checks.expect(len(of_forward) >= 5 * BATCHES, "forward operators in modules")
    for name, count in NODES.items():
        nodes = [o for o in trace.operators if o.name == name]
        checks.equal(len(nodes), count * BATCHES, name)
        checks.equal({o.tid for o in nodes}, {tids["backward"]}, name + ": thread")
        checks.equal({o.args.get("Fwd thread id") for o in nodes}, {tids["main"]},
                     name + ": forward thread")
        wrong = [(o.args.get("Module"), of_forward.get(o.args.get("Sequence number")))
                 for o in nodes if not o.args.get("Module")
                 or o.args["Module"] != of_forward.get(o.args["Sequence number"])]
        checks.expect(not wrong, "%s: modules (ours, forward's): %s" % (name, wrong[:3]))
    modules = {o.args.get("Module") for o in trace.operators if o.name == "AddmmBackward0"}
    checks.equal(len(modules), 3, "layers that backward nodes name: %s" % sorted(map(str, modules)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep")
    keep = parser.parse_args().keep
    python = torch_runs.require_torch()
    checks = e2e.Checks()
    with e2e.Folder("torch-gpu-threads") as folder:
        folder = keep or folder
        done = run(python, folder)
        if checks.equal(done.returncode, 0, "status: " + done.stderr.decode()[-1500:]):
            lines = done.stdout.decode().split()
            tids = {role: int(tid) for role, tid in zip(lines[::2], lines[1::2])}
            checks.equal(len(set(tids.values())), 3, "threads of the program: %s" % tids)
            trace = torch_trace.read_gpuprof(e2e.traces(folder))
            placement = where(trace)
            pinned = {name: count for name, count in placement.items() if "pin_memory" in name}
            checks.expect(sum(sum(c.values()) for c in pinned.values()) >= 2 * BATCHES,
                          "operators that pin memory: %s" % pinned)
            checks.equal({tid for c in pinned.values() for tid in c}, {tids["pins"]},
                         "thread of what pins memory")
            checks.equal(set(placement["aten::addmm"]), {tids["main"]}, "thread of the forward")
            backward(checks, trace, tids)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
