# SPDX-License-Identifier: Apache-2.0
"""Runs every command of docs/pytorch.md as it stands there and looks for what the page promises.

usage: pytorch_page_test.py --device cpu|cuda [--keep FOLDER] [--only TEXT]
cuda: on the simulated GPU. --only: commands that contain TEXT."""

import argparse
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "simgpu", "oracle"))
sys.path.append(os.path.join(HERE, "..", "viewers"))
import e2e  # noqa: E402
import sim  # noqa: E402
import torch_runs  # noqa: E402
import torch_trace  # noqa: E402
import viewers  # noqa: E402
from torch_python import python_with_torch  # noqa: E402

PAGE = os.path.join(e2e.SOURCE, "docs", "pytorch.md")
PROGRAM = os.path.join(e2e.SOURCE, "tests", "e2e", "programs", "train.py")
# Where it had no processor for long, gpuprof says that it recorded other steps.
TRIES = 3
EVERY_STEP = list(range(1, 61))  # two epochs of 30 batches


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def commands(page):
    """Lines of the page's blocks of commands: those without the name of a language."""
    found, block = [], None
    for line in page.splitlines():
        if line.startswith("```"):
            block = line if block is None else None
        elif block == "```" and line.strip():
            found.append(line)
    return found


class Reader:
    """Follows the page in a folder that holds its program."""

    def __init__(self, checks, device, folder):
        self.checks, self.device, self.folder = checks, device, folder
        self.python = torch_runs.require_torch() if device == "cuda" else python_with_torch()
        self.line = ""
        shutil.copy(PROGRAM, folder)

    def check(self, good, what):
        self.checks.expect(good, "%s, %s: %s" % (self.device, self.line, what))

    def words(self, line):
        """The command, its programs replaced by those under test."""
        words = shlex.split(line)
        at = words.index("--") + 1
        start = [self.python]
        if words[at] == "torchrun":
            start += ["-m", "torch.distributed.run"]
        if self.device == "cuda":
            start = [sim.GPUSIM_RUN, "--quiet", "--model", "a100", "--devices", "2", "--", *start]
        # A busy machine needs longer to its first step than is waited for one by default.
        patient = ["--step-timeout", "600s"] if re.search(r"--active \d+ ", line) else []
        return [e2e.GPUPROF, *words[1:at - 1], *patient, "--", *start, *words[at + 1:]]

    def run(self, line):
        self.line = line
        shutil.rmtree(os.path.join(self.folder, "traces"), ignore_errors=True)
        environment = dict(os.environ, **torch_runs.environment())
        if self.device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = ""
        done = subprocess.run(self.words(line), cwd=self.folder, env=environment, timeout=600,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.stderr = done.stderr.decode()
        self.check(done.returncode == 0, "status %d: %s" % (done.returncode, self.stderr[-1500:]))
        ranks = 2 if "torchrun" in line else 1
        self.check(done.stdout.decode().count("epoch 2 done") == ranks, "the program's output")
        self.files = e2e.traces(os.path.join(self.folder, "traces"))

    def steps(self, labels, source):
        """Steps of each file."""
        found = [torch_trace.read_gpuprof([path]) for path in self.files]
        got = [[step.label for step in trace.steps] for trace in found]
        if "step mark" in self.stderr and len(got) == len(labels):  # "lost because a ring buffer was full: …"
            # A machine so busy that the daemon did not run for long; it is reported.
            labels = [sorted(set(one) & set(all)) for one, all in zip(got, labels)]
        self.check(got == labels, "steps %s, wanted %s: %s" % (got, labels, self.stderr[-1500:]))
        sources = {step.args.get("source") for trace in found for step in trace.steps}
        self.check(sources == ({source} if source else set()), "sources %s" % sources)
        return found

    def views(self, names):
        """What the real plugin shows of the first worker; None where it is not installed."""
        plugin_views = viewers.plugin(os.path.join(self.folder, "traces"))
        if plugin_views is None:
            return self.checks.skip("no viewer is installed: " + self.line)
        worker = next(iter(next(iter(plugin_views.values())).values()))
        missing = set(names) - set(worker["views"])
        self.check(not missing, "views %s are missing" % sorted(missing))
        return worker


def whole(reader):
    trace, = reader.steps([EVERY_STEP], "loop+optimizer")
    message = re.search(r"^steps: .*$", read(PAGE), re.M).group()
    message = re.sub(r"at \S*train\.py", "at train.py", message)
    if "--step" in reader.line:
        message = message.replace("95 %", "100 %")
    if "step mark" in reader.stderr:
        message = message.replace("60", str(len(trace.steps)), 1)
    steps_line = "".join(part for part in reader.stderr.splitlines() if "steps: " in part)
    reader.check(message in re.sub(r"at \S*train\.py", "at train.py", steps_line),
                 "the page says %r, gpuprof %r" % (message, steps_line))
    names = {operator.name for operator in trace.operators}
    wanted = {"aten::addmm", "aten::linear", "Optimizer.step#AdamW.step",
              "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}
    reader.check(wanted <= names, "operators %s are missing" % sorted(wanted - names))
    linear = [o for o in trace.operators if o.name == "aten::addmm" and "Input Dims" in o.args]
    reader.check(any("train.py" in o.args.get("Call stack", "") for o in linear), "call stacks")
    modules = {module.name for module in trace.modules}
    wanted = {"nn.Module: Classifier_0", "nn.Module: Sequential_0", "nn.Module: Linear_0"}
    reader.check(wanted <= modules, "modules %s" % sorted(modules))
    devices = {args["Device Type"] for _, args in trace.memory}
    reader.check(devices == ({0, 1} if reader.device == "cuda" else {0}), "memory of %s" % devices)


def tensorboard(reader):
    names = ["Overview", "Operator", "Trace", "Module", "Memory"]
    worker = reader.views(names + (["Kernel"] if reader.device == "cuda" else []))
    if worker is None:
        return
    reader.check(len(worker["overview"]["steps"]) == 60, "steps of the overview")
    reader.check("Classifier_0" in worker["modules"], "modules %s" % worker["modules"])
    if reader.device == "cuda":
        owners = {operator for _, operator in worker["owners"]}
        reader.check("aten::addmm" in owners, "owners of kernels %s" % sorted(owners))


def in_time(reader):
    reader.check(len(reader.files) == 1, "files: %s" % reader.stderr[-1500:])


def no_step(reader):
    reader.steps([[]], None)
    reader.check("no step was seen (--step nvtx:step)" in reader.stderr, reader.stderr[-1500:])


def ranks(reader):
    reader.steps([EVERY_STEP] * 2, "loop+optimizer")
    infos = [e2e.load(path).get("distributedInfo", {}) for path in reader.files]
    reader.check(sorted(one.get("rank") for one in infos) == [0, 1]
                 and all(one.get("world_size") == 2 for one in infos), "ranks %s" % infos)
    reader.views(["Overview", "Operator", "Trace", "Distributed"])


def formats(reader):
    below = os.path.join(reader.folder, "traces", "kineto", "*", "*.pt.trace.json.gz")
    reader.check(len(reader.files) == 2 and len(glob.glob(below)) == 2,
                 "files: %s" % reader.stderr[-1500:])


def windows(*labels):
    return lambda reader: reader.steps(list(labels), "loop+optimizer")


PROMISES = {  # options and program of a command: what is to come of it
    "-- python3 train.py": whole,
    "--wait 2 --warmup 1 --active 3 --repeat 2 -- python3 train.py": windows([4, 5, 6], [10, 11, 12]),
    "--skip-first 10 --wait 1 --warmup 1 --active 2 --repeat 1 -- python3 train.py": windows([13, 14]),
    "--delay 1s --duration 1m -- python3 train.py": in_time,
    "--step loop:train.py:37 -- python3 train.py": whole,
    "--step optimizer -- python3 train.py": lambda reader: reader.steps([EVERY_STEP], "optimizer"),
    "--step nvtx:step --wait 1 --warmup 1 --active 1 -- python3 train.py": no_step,
    "-- torchrun --standalone --nproc-per-node 2 train.py": ranks,
    "--format tensorboard,kineto -- torchrun --standalone --nproc-per-node 2 train.py": formats,
}


def follow(reader, line):
    if line == "tensorboard --logdir traces":
        reader.line = line
        return tensorboard(reader)
    words = line.split(" ", 4)
    promise = PROMISES.get(words[4]) if words[:4] == "gpuprof run -o traces".split() else None
    if not reader.checks.expect(promise is not None, "nothing is known of %r" % line):
        return None
    for _ in range(TRIES):
        reader.run(line)
        if "instead of step" not in reader.stderr:
            break
        print("%s: %s" % (line, reader.stderr[-800:]), flush=True)
    return promise(reader)


def numbers_are_measured(checks):
    """Costs stand in docs/overhead.md, too."""
    measured = read(os.path.join(e2e.SOURCE, "docs", "overhead.md"))
    costs = read(PAGE).split("## What it costs")[1].split("\n## ")[0]
    for number in re.findall(r"\b(\d+)(?= ns| to )", costs):
        checks.expect(re.search(r"\b%s\b" % number, measured), "overhead.md has no %s ns" % number)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--keep")
    parser.add_argument("--only", default="")
    wanted = parser.parse_args()
    checks = e2e.Checks()
    numbers_are_measured(checks)
    with e2e.Folder("docs-pytorch") as folder:
        reader = Reader(checks, wanted.device, wanted.keep or folder)
        lines = commands(read(PAGE))
        checks.expect(len(lines) == len(PROMISES) + 1, "%d commands in the page" % len(lines))
        for line in lines:
            if wanted.only not in line:
                continue
            before = checks.failed
            follow(reader, line)
            print("%s: %s" % (line, "right" if checks.failed == before else "WRONG"), flush=True)
        if checks.failed and not wanted.keep:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
