# SPDX-License-Identifier: Apache-2.0
"""What the oracle does not ask of PyTorch on the simulated GPU: the same kernels twice, graph replays and
compiled kernels with their launches, ranks, refusals, injection, and a process without the simulator.

usage: cases_test.py [--only NAME] [--python PATH]"""

import argparse
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import read_trace  # noqa: E402
import read_truth  # noqa: E402
import run as runner  # noqa: E402
import torch_runs  # noqa: E402
from run import e2e, sim  # noqa: E402

PER_CLIENT = ["--cupti", "per-client", "--devices", "2"]
LAUNCHES = ("cuLaunchKernel", "cuLaunchKernelEx")


def zoo(python, folder, name, arguments=()):
    done = runner.execute(folder, torch_runs.script(python, folder, name, arguments, 0, False),
                          PER_CLIENT, env=torch_runs.environment())
    if done.status != 0:
        print(done.explain())
    return done


def used(run):
    """The processes that put something on a device."""
    found = {}
    for pid, path in run.reference.items():
        log = read_truth.read(path)
        if any(op.kind == "kernel" for op in log.ops):
            found[pid] = log
    return found


def same_twice(checks, python, folder):
    """Two runs give the same ordered list of kernels."""
    lists = []
    for turn in ("one", "two"):
        done = zoo(python, os.path.join(folder, turn), "resnet_amp.py", ["--steps", "4"])
        for log in used(done).values():
            lists.append([(o.name, o.grid, o.block) for o in log.ops if o.kind == "kernel"])
    if checks.equal(len(lists), 2, "two runs, one process each"):
        print("  %d kernels in each run" % len(lists[0]))
        checks.expect(len(lists[0]) > 500, "many kernels: %d" % len(lists[0]))
        first = next((i for i, (a, b) in enumerate(zip(*lists)) if a != b), None)
        checks.expect(lists[0] == lists[1], "the same kernels in the same order, first other: %s" % first)


GRAPH = """
import torch
x = torch.randn(64, 64, device="cuda"); y = torch.empty_like(x)
side = torch.cuda.Stream()
with torch.cuda.stream(side): (x @ x).relu_()
torch.cuda.synchronize()
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = (x @ x).relu(); y = y + 1; y = y.sum()
a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
a.record()
for _ in range(7): g.replay()
b.record(); torch.cuda.synchronize()
print("elapsed", a.elapsed_time(b) > 0)
"""


def graph_replays(checks, python, folder):
    """N replays give N times the nodes, with N correlation ids and distinct node ids."""
    path = os.path.join(folder, "graph.py")
    with open(path, "w", encoding="utf-8") as script:
        script.write(GRAPH)
    done = runner.execute(folder, [python, path], PER_CLIENT)
    checks.expect("elapsed True" in done.stdout, "time passes between events: " + done.explain())
    logs = [read_trace.read_gpuprof(paths) for paths in done.recorded.values()]
    nodes = [o for w in logs for o in w.ops if o.kind == "kernel" and o.node]
    launches = collections.Counter(o.corr for o in nodes)
    checks.equal(len(launches), 7, "a correlation id for each replay")
    sizes = set(launches.values())
    checks.equal(len(sizes), 1, "each replay has the same nodes")
    ids = {o.node for o in nodes}
    checks.equal({len(ids)}, sizes, "distinct ids of nodes")
    print("  %d nodes x %d replays" % (len(ids), len(launches)))


def compiled(checks, python, folder):
    """Kernels of torch.compile lead to driver calls."""
    done = zoo(python, folder, "compile.py", ["--steps", "4"])
    triton = unlinked = 0
    for paths in done.recorded.values():
        log = read_trace.read_gpuprof(paths)
        for op in log.ops:
            if op.kind != "kernel" or not op.name.startswith("triton_") or op.node:
                continue
            triton += 1
            call = log.calls.get(op.corr)
            unlinked += call is None or call.name not in LAUNCHES
    print("  %d compiled kernels" % triton)
    checks.expect(triton > 0, "compiled kernels were seen")
    checks.equal(unlinked, 0, "compiled kernels without cuLaunchKernel(Ex)")


# PyTorch's profiler states rank and size only while the process group lives.
RANKED = """
import json, os, sys, torch, torch.distributed as dist
from torch.profiler import ProfilerActivity, profile
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl", device_id=torch.device("cuda", local))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256).cuda(), device_ids=[local])
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    for step in range(4):
        model(torch.randn(32, 256, device="cuda")).square().mean().backward()
    torch.cuda.synchronize()
profiler.export_chrome_trace(os.path.join(sys.argv[1], "kineto.%d.json" % os.getpid()))
dist.barrier(); dist.destroy_process_group()
"""


def ranks(checks, python, folder):
    """One trace a rank; gradients on a stream of their own; rank and size as PyTorch states them."""
    path = os.path.join(folder, "ranked.py")
    with open(path, "w", encoding="utf-8") as script:
        script.write(RANKED)
    done = runner.execute(folder, torch_runs.script(python, folder, path, [folder], 8, False),
                          ["--cupti", "per-client", "--devices", "8"], env=torch_runs.environment())
    checks.equal(done.status, 0, "status: " + (done.explain() if done.status else ""))
    checks.equal(sorted(done.recorded), sorted(done.kineto),
                 "a trace for each of 8 ranks and none for the launcher")
    checks.equal(len(done.kineto), 8, "ranks")
    for pid in sorted(set(done.recorded) & set(done.kineto)):
        recorded = e2e.load(done.recorded[pid][0]).get("distributedInfo", {})
        with open(done.kineto[pid], encoding="utf-8") as file:
            expected = json.load(file).get("distributedInfo", {})
        checks.expect(expected.get("world_size") == 8, "PyTorch states 8 ranks: %s" % expected)
        checks.equal((recorded.get("rank"), recorded.get("world_size")),
                     (expected.get("rank"), expected.get("world_size")), "rank and size of %d" % pid)
        kernels = [o for o in read_trace.read_gpuprof(done.recorded[pid]).ops if o.kind == "kernel"]
        collective = {o.stream for o in kernels if o.name.startswith("ncclDevKernel")}
        other = {o.stream for o in kernels if not o.name.startswith("ncclDevKernel")}
        checks.expect(collective - other, "gradients have a stream of their own: %s, others %s"
                      % (collective, other))


def refusals(checks, python, folder):
    """What the fakes do not know raises an error of PyTorch and ends nothing."""
    code = ("import torch\nx = torch.randn(8, 8, device='cuda')\n"
            "for f in (torch.fft.fft, torch.linalg.inv, torch.linalg.svd, torch.linalg.cholesky):\n"
            "    try: f(x); print('went on')\n"
            "    except RuntimeError as e: print('raised', type(e).__name__)\n"
            "print(torch.add(x, 1).shape)")
    done = runner.execute(folder, [python, "-c", code], PER_CLIENT)
    checks.equal(done.status, 0, "status: " + done.explain())
    checks.equal(done.stdout.split().count("raised"), 4, "four errors: " + done.stdout)
    checks.expect("torch.Size([8, 8])" in done.stdout, "the program goes on")


def injected(checks, _, folder):
    """Without a preload the driver itself loads us: a runtime program and a driver program."""
    for name, arguments in (("sim_cudart_app", []), ("sim_trainer", ["--steps", "4"])):
        program = os.path.join(e2e.SIMGPU, name)
        if not os.path.exists(program):
            checks.skip(name + " is not built")
            continue
        out = os.path.join(folder, name)
        # `env -u` takes our preload away, as a launcher that sets its own would.
        result = e2e.gpuprof(["-o", out], ["env", "-u", "LD_PRELOAD", sim.GPUSIM_RUN, "--quiet", "--",
                                           program, *arguments])
        kernels = sum(e.get("cat") == "kernel" for path in e2e.traces(out)
                      for e in e2e.load(path)["traceEvents"])
        checks.equal(result.returncode, 0, name + ": status")
        checks.expect(kernels > 0, "%s: %d kernels without a preload: %s"
                      % (name, kernels, result.stderr.decode()[-600:]))
        print("  %s: %d kernels" % (name, kernels))


def without_simulator(checks, python, folder):
    """Where nobody requested the simulator PyTorch finds no GPU and no fake is mapped."""
    code = ("import torch\nprint(torch.cuda.is_available())\n"
            "maps = open('/proc/self/maps').read()\nprint('gpusim' in maps, 'cupti' in maps)")
    plain = subprocess.run([python, "-c", code], capture_output=True, text=True)
    logs = e2e.gpuprof(["-q", "-o", folder], [python, "-c", code], text=True)
    checks.equal((logs.returncode, logs.stdout, logs.stderr),
                 (plain.returncode, plain.stdout, plain.stderr), "with and without gpuprof")
    checks.expect("gpusim" not in logs.stdout and logs.stdout.splitlines()[1].startswith("False"),
                  "no simulated library: " + logs.stdout)


CASES = {"same-twice": same_twice, "graph-replays": graph_replays, "compiled": compiled,
         "ranks": ranks, "refusals": refusals, "injected": injected,
         "without-simulator": without_simulator}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--python")
    arguments = parser.parse_args()
    python = torch_runs.require_torch(arguments.python)
    checks = e2e.Checks()
    for name in arguments.only.split(","):
        with e2e.Folder("case-" + name) as folder:
            print("--- " + name)
            CASES[name](checks, python, folder)
    checks.done()


if __name__ == "__main__":
    sys.exit(main())
