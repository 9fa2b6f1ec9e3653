# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs nobody edited, in every view of the real TensorBoard plugin.

usage: torch_views_test.py [--only CASE,…] [--keep FOLDER]
On the CPU: cpu, deep, ranks, diff. On the simulated GPU: gpu, kernels, advice, parallel, sharded,
straggler, path."""

import argparse
import os
import shutil
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "simgpu", "oracle"))
import e2e  # noqa: E402
import kernel_view  # noqa: E402
import sim  # noqa: E402
import torch_runs  # noqa: E402
import viewers  # noqa: E402

PROGRAM = os.path.join(HERE, "programs", "views.py")
DEEP = os.path.join(HERE, "programs", "deep.py")
LOADING, IDLE, UNITS = "input data loading", "low utilization", "Tensor Cores eligible"
ON_DEVICE = ("Kernel", "Memcpy", "Memset", "Communication")
FULL, TALK = "at the limit of device memory", "high time cost on communication"
LATE_US = 20_000  # of the last rank of the straggler script


class Bench:
    """Runs programs under gpuprof and asks the plugin."""

    def __init__(self, checks, base):
        self.checks, self.base = checks, base
        self.python = torch_runs.torch_python()

    def record(self, name, arguments, ranks=0, run=None, program=PROGRAM, options=(), devices=1):
        """One recorded run in BASE/NAME/RUN; returns the folder of the runs."""
        folder = os.path.join(self.base, name)
        out = os.path.join(folder, run or "run")
        shutil.rmtree(out, ignore_errors=True)
        command = torch_runs.script(self.python, folder, program, arguments, ranks, wrapped=False)
        environment = dict(os.environ, **torch_runs.environment())
        if "cuda" in arguments or program not in (PROGRAM, DEEP):
            torch_runs.require_torch()
            # Of newer ones the plugin does not know the kernels of matrix units.
            command = [sim.GPUSIM_RUN, "--quiet", "--model", "a100", "--devices",
                       str(max(devices, ranks)), "--", *command]
        else:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        done = e2e.gpuprof(["-o", out, "--span-size", "100000000", *options], command, env=environment,
                           timeout=600)
        with open(os.path.join(folder, "stderr.txt"), "wb") as file:
            file.write(done.stderr)
        self.checks.equal(done.returncode, 0, "%s: %s" % (name, done.stderr.decode()[:1500]))
        return folder

    def workers(self, folder, count=1):
        shown = viewers.plugin(folder)
        found = [worker for run in shown.values() for worker in run.values()]
        self.checks.equal(len(found), count, "%s: workers" % folder)
        return found

    def views(self, what, worker, names):
        missing = set(names) - set(worker["views"])
        self.checks.expect(not missing, "%s: views %s are missing" % (what, sorted(missing)))

    def columns(self, what, worker, names, most=False):
        """Each step has some of each; with `most`, some steps may have none."""
        steps = worker["overview"]["steps"]
        self.checks.expect(len(steps) >= 10, "%s: %d steps" % (what, len(steps)))
        for name in names:
            empty = [row["Step"] for row in steps if not row.get(name, 0) > 0]
            self.checks.expect(len(empty) <= (len(steps) // 2 if most else 0),
                               "%s: no %s in steps %s" % (what, name, empty[:5]))


def of_script(stacks):
    return any("views.py" in line for line in stacks)


def cpu(bench):
    worker, = bench.workers(bench.record("cpu", []))
    bench.views("cpu", worker, ["Overview", "Operator", "Trace", "Memory", "Module"])
    bench.columns("cpu", worker, ["DataLoader", "CPU Exec"])
    stacks = worker["operators"].get("aten::addmm", {}).get("stacks", [])
    bench.checks.expect(of_script(stacks), "cpu: call stacks of aten::addmm: %s" % stacks[:2])
    bench.checks.expect(worker.get("memory", {}).get("CPU"), "cpu: memory of the host")
    inside = worker.get("modules", {}).get("Net_0", {})
    bench.checks.equal(set(inside), {"Sequential_0", "Linear_1"}, "cpu: modules in the model")
    bench.checks.expect("Kernel" not in worker["views"] and not worker["overview"]["gpus"],
                        "cpu: figures of a GPU: %s" % worker["overview"]["gpus"])
    bench.checks.equal(set(inside.get("Sequential_0", {})), {"Linear_0", "ReLU_0"},
                       "cpu: modules in its body")


def deep(bench):
    """Ranges, NVTX ranges and modules inside hundreds of others: the plugin still takes the file."""
    worker, = bench.workers(bench.record("deep", [], program=DEEP))
    bench.views("deep", worker, ["Overview", "Operator", "Trace", "Module"])
    bench.checks.expect("outer 0" in worker["operators"], "deep: the outermost range")
    path, = e2e.traces(os.path.join(bench.base, "deep", "run"))
    file = e2e.load(path)
    spans = {kind: len({event["name"] for event in file["traceEvents"]
                        if event.get("cat") == kind and event["ph"] == "b"})
             for kind in ("torch_deep", "nvtx_deep")}
    print("deep: spans of their own", spans)
    bench.checks.expect(spans["torch_deep"] >= 300, "deep: ranges drawn as spans: %s" % spans)
    if "nvtx 0" in worker["operators"]:  # a PyTorch without CUDA has none
        bench.checks.expect(spans["nvtx_deep"] >= 900, "deep: NVTX drawn as spans: %s" % spans)
    metadata = str(file["gpuprof"])
    for words in ("nested deeper than 100", "nn.Module calls nested deeper than 40"):
        bench.checks.expect(words in metadata, "deep: the file does not say %r" % words)


def ranks(bench):
    found = bench.workers(bench.record("ranks", ["--ranks"], ranks=2), 2)
    for worker in found:
        bench.views("ranks", worker, ["Overview", "Operator", "Trace", "Distributed"])
        # On a busy machine gloo's threads end their ranges late: these fill whole steps.
        bench.columns("ranks", worker, ["CPU Exec"], most=True)
    distributed_info = next(iter(found[0].get("distributed", {}).values()), {})
    bench.checks.expect(distributed_info.get("commops"), "ranks: communication operators: %s" % str(distributed_info)[:300])


def gpu(bench):
    worker, = bench.workers(bench.record("gpu", ["--device", "cuda"]))
    bench.views("gpu", worker, ["Overview", "Operator", "Kernel", "Trace", "Memory", "Module"])
    bench.columns("gpu", worker, ["Runtime", "DataLoader", "CPU Exec", "Kernel"])
    owners = {operator for _, operator in worker.get("owners", [])}
    bench.checks.expect("aten::addmm" in owners, "gpu: owners of kernels: %s" % sorted(owners))
    bench.checks.expect(worker.get("memory", {}).get("GPU0"), "gpu: memory of the device")


def kernels(bench):
    """Matrix units, blocks and occupancy: in mixed precision, with 16 and with 32 bits alone."""
    for name, arguments in {"mixed": ["--autocast"], "half": ["--half"], "single": []}.items():
        folder = bench.record("kernels-" + name, ["--device", "cuda", "--width", "2048", *arguments])
        worker, = bench.workers(folder)
        path, = e2e.traces(os.path.join(folder, "run"))
        kernel_view.check(bench.checks, "kernels, " + name, worker, e2e.load(path), name != "single")


def usual(steps, among=None):
    """Median time of each category: first steps are unlike the others."""
    return {name: statistics.median(row[name] for row in steps) for name in steps[0]
            if isinstance(steps[0][name], (int, float)) and (not among or name in among)}


def advice(bench):
    cases = {  # arguments: (what must be said, what must not be said, what takes most of a step)
        "slow": (["--slow-loader"], [LOADING], [], "DataLoader"),
        "small": (["--width", "16"], [IDLE, UNITS], [], None),
        "good": (["--width", "8192", "--repeat", "8", "--half"], [], [UNITS, IDLE, LOADING, FULL],
                 "Kernel"),
        "copies": (["--copies"], [IDLE], [LOADING], "Memcpy"),
        "host": (["--host-work"], [IDLE], [LOADING], "CPU Exec"),
        "fill": (["--fill"], [FULL], [], None),
    }
    for name, (arguments, present, absent, most) in cases.items():
        worker, = bench.workers(bench.record("advice-" + name, ["--device", "cuda", *arguments]))
        text = worker["overview"]["advice"]
        for part in present:
            bench.checks.expect(part in text, "advice, %s: nothing of %r: %s" % (name, part, text))
        for part in absent:
            bench.checks.expect(part not in text, "advice, %s: %r: %s" % (name, part, text))
        if most:
            # A fake's copies keep the host busy, which the real ones would not.
            times = usual(worker["overview"]["steps"], ON_DEVICE if most == "Memcpy" else None)
            bench.checks.equal(max(times, key=times.get), most, "advice, %s: %s" % (name, times))


def parallel(bench):
    """What the plugin states about two devices of one process."""
    folder = bench.record("data-parallel", [], devices=2,
                          program=os.path.join(torch_runs.ZOO, "data_parallel.py"))
    worker, = bench.workers(folder)
    text = worker["overview"]["advice"]
    bench.checks.expect("use DistributedDataParallel instead" in text, "parallel: %s" % text)


def sharded(bench):
    """Collectives of sharded parameters, which PyTorch does not call what the plugin looks for."""
    steps, layers, elements, ranks_ = 12, 4, 128 * 128 + 128, 2
    program = os.path.join(torch_runs.ZOO, "fsdp2.py")
    found = bench.workers(bench.record("sharded", ["--steps", str(steps)], ranks=ranks_,
                                       program=program), ranks_)
    for worker in found:
        bench.views("sharded", worker, ["Overview", "Operator", "Kernel", "Distributed"])
        bench.columns("sharded", worker, ["Communication"], most=True)
    distributed_info = next(iter(found[0].get("distributed", {}).values()), {})
    bench.checks.equal(len(distributed_info.get("commops", {}).get("data", {})), ranks_, "sharded: ranks told of")
    for rank, table in distributed_info.get("commops", {}).get("data", {}).items():
        rows = {row[0]: row[1:4] for row in table["rows"]}  # calls, bytes, bytes of each
        shard = 4 * elements // ranks_
        # Gathered for the forward and for the backward pass.
        wanted = {"nccl:all_gather": [2 * layers * steps, 2 * layers * steps * shard, shard],
                  "nccl:reduce_scatter": [layers * steps, layers * steps * 4 * elements, 4 * elements]}
        bench.checks.equal(rows, wanted, "sharded: collectives of %s" % rank)


def straggler(bench):
    program = os.path.join(torch_runs.ZOO, "straggler.py")
    found = bench.workers(bench.record("straggler", ["--steps", "20"], ranks=4, program=program), 4)
    bench.checks.expect(any(TALK in worker["overview"]["advice"] for worker in found),
                        "straggler: %s" % [worker["overview"]["advice"] for worker in found])
    distributed_info = next(iter(found[0].get("distributed", {}).values()), {})
    steps = distributed_info.get("waittime", {}).get("data", {})
    bench.checks.expect(len(steps) > 10, "straggler: steps of the Distributed view: %s" % list(steps))
    ranks_of = {}
    for path in e2e.traces(os.path.join(bench.base, "straggler", "run")):
        worker = os.path.basename(path).split(".")[0]
        ranks_of[e2e.load(path)["distributedInfo"]["rank"]] = worker
    # Of each step: data transfer and synchronising time of each worker, in microseconds.
    for rank in range(3):
        more = [waits[ranks_of[rank]][1] - waits[ranks_of[3]][1]
                for step, waits in steps.items()
                if step != "all" and set(ranks_of.values()) <= set(waits)]
        longer = statistics.median(more) if more else 0
        print("straggler: rank %d synchronises %d us a step longer than rank 3" % (rank, longer))
        bench.checks.expect(longer > LATE_US / 2, "straggler: rank %d waits %d us longer than rank 3"
                            % (rank, longer))


def path(bench):
    """Two ranks, whose streams wait for events of others, in HTA."""
    if not viewers.python_of("hta"):
        bench.checks.skip("path: HTA is not installed")
        return
    program = os.path.join(torch_runs.ZOO, "ddp.py")
    folder = bench.record("path", ["--steps", "10"], ranks=2, program=program,
                          options=["--format", "kineto"])
    found = viewers.hta(os.path.join(folder, "run", "kineto", "span_0001"), "critical-path")
    bench.checks.equal(found["ranks"], [0, 1], "path: ranks")
    bench.checks.expect((found["critical_path"] or {}).get("nodes", 0) > 100,
                        "path: critical path: %s" % found["critical_path"])
    bench.checks.equal(found["below_zero"], [], "path: columns with negative values")
    for name in ("temporal", "overlap", "kernel_types", "idle", "queue"):
        bench.checks.expect(found[name], "path: nothing in " + name)
    bench.checks.expect(all(count > 100 for count in found["launches"].values()),
                        "path: launches %s" % found["launches"])


def diff(bench):
    bench.record("diff", [], run="base")
    folder = bench.record("diff", ["--width", "256"], run="wide")
    found = viewers.diff(folder)
    bench.checks.equal(found["runs"], ["base", "wide"], "diff: runs")
    text = str(found["diff"])
    bench.checks.expect("left" in text and "right" in text, "diff: both sides: %s" % text[:300])


CASES = {f.__name__: f for f in (cpu, deep, ranks, diff, gpu, kernels, advice, parallel, sharded,
                                 straggler, path)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--keep")
    wanted = parser.parse_args()
    viewers.require_viewer("view")
    checks = e2e.Checks()
    with e2e.Folder("torch-views") as folder:
        bench = Bench(checks, wanted.keep or folder)
        for name in wanted.only.split(","):
            before = checks.failed
            CASES[name](bench)
            print("%s: %s" % (name, "right" if checks.failed == before else "wrong"), flush=True)
        if checks.failed and not wanted.keep:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
