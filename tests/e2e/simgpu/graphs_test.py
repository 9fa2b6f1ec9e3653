# SPDX-License-Identifier: Apache-2.0
"""A graph of 2,000 nodes replayed past what CUPTI can keep: records of nodes end with a message and the
program goes on; --cuda-graph graph gives one slice for each launch, linked to the thread that launched."""

import re
import sys

import e2e
import sim

NODES, STEPS = 2000, 80
LONGER = (1, 4, 16)  # the worker thread, which looks, may get no processor for as long as the shortest takes


def work(steps):
    return ["--steps", str(steps), "--kernels", "6", "--graph-nodes", str(NODES), "--host-ms", "0", "--step-ms", "20"]


WORK = work(STEPS)
# CUPTI allows one device buffer, about 100,000 records; the replays make 160,000.
ONE_BUFFER = ["--time-scale", "0.05", "--device-buffers", "1"]
STOPPED = re.compile(r"after (\d+) records of CUDA graph nodes")


def events(folder, wanted):
    return [e for path in e2e.traces(folder) for e in e2e.load(path)["traceEvents"]
            if e.get("ph") == "X" and wanted(e)]


def is_node(event):
    return event["cat"] == "kernel" and event["args"].get("graph node id", 0) != 0


def check_stops(checks, name, scenario, most, layout="13.0"):
    options = ["--layout", layout] + (ONE_BUFFER if scenario is None else ["--time-scale", "0.05", "--scenario", scenario])
    for steps in (STEPS * times for times in LONGER):
        with e2e.Folder("graph-" + name) as folder:
            plain = sim.run_plain(work(steps), options)
            result = sim.run(["-o", folder, "--cuda-graph", "node"], work(steps), options)
            stderr = result.stderr.decode()
            checks.equal((result.returncode, result.stdout), (plain.returncode, plain.stdout),
                         name + ": the program ends and prints as without gpuprof")
            found = STOPPED.search(stderr)
            nodes = len(events(folder, is_node))
            print("  %s: %d of %d nodes in the file; said: %s"
                  % (name, nodes, NODES * steps, found.group(0) if found else None))
            wrong = [e for e in events(folder, is_node) if not 0 < e["dur"] < 1000]
            checks.equal(wrong[:2], [], name + ": no node has times that cannot be")
        if found:
            break
    checks.expect(found, name + ": the summary says that it stopped: " + stderr[-900:])
    checks.expect("records of kernels" not in stderr, name + ": CUPTI is not blamed for it: " + stderr[-900:])
    # A few replays more may come through until all of it is off.
    checks.expect(0 < nodes <= (int(found.group(1)) if found else 0) + 20 * NODES, "%s: %d nodes recorded" % (name, nodes))
    checks.in_time(nodes <= most, "%s: stopped in time: %d nodes" % (name, nodes))


def check_one_slice_a_launch(checks):
    with e2e.Folder("graph-launches") as folder:
        result = sim.run(["-o", folder, "--cuda-graph", "graph"], WORK, ONE_BUFFER)
        stderr = result.stderr.decode()
        checks.equal(result.returncode, 0, "graph mode: status")
        checks.expect(not STOPPED.search(stderr), "graph mode: nothing stopped: " + stderr[-600:])
        slices = events(folder, lambda e: e["cat"] in ("kernel", "gpu_graph") and
                        "graph" in e["name"].lower())
        launches = events(folder, lambda e: e["cat"] == "runtime" and e["name"] == "cuGraphLaunch")
        checks.equal(len(slices), STEPS, "graph mode: a slice for each launch")
        callers = {e["args"]["correlation"]: e["tid"] for e in launches}
        checks.equal([e["args"]["correlation"] for e in slices
                      if e["args"]["correlation"] not in callers], [],
                     "graph mode: each leads to its launch")
        checks.equal(len(set(callers.values())), 1, "graph mode: on the thread that launched")
        checks.equal(len(events(folder, is_node)), 0, "graph mode: no nodes")
        print("  graph mode: %d slices for %d launches" % (len(slices), len(launches)))


def main():
    sim.require_build()
    checks = e2e.Checks()
    # The budget is looked at once a tick, so a few replays more may come through.
    check_stops(checks, "budget", None, 100_000 + 20 * NODES)
    check_stops(checks, "zero-times", "pool-limit:50000", 50_000 + NODES)
    check_stops(checks, "budget, kernels stay on", None, 100_000 + 20 * NODES, "12.4")
    check_one_slice_a_launch(checks)
    checks.done()


if __name__ == "__main__":
    sys.exit(main())
