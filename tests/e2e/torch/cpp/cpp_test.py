# SPDX-License-Identifier: Apache-2.0
"""C++ programs that train with libtorch: linked with it, and loading it late. Built here, from the
headers and libraries of an installed PyTorch.

usage: cpp_test.py [--keep FOLDER]"""

import argparse
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import e2e  # noqa: E402
import torch_programs as programs  # noqa: E402
import torch_trace  # noqa: E402

STATUS = 7  # of the program
ASK = ("import torch; from torch.utils import cpp_extension as c; "
       "print(torch.__path__[0]); print(int(torch.compiled_with_cxx11_abi())); print(*c.include_paths())")
ENOUGH = 10  # steps seen of a thread
WHOLE = ["-f", "--span-size", "100000000"]


def build(python, folder):
    """The training as a library, a program linked with it, one that loads it."""
    compiler = shutil.which("g++") or e2e.skip("no g++ here")
    root, abi, include = subprocess.run([python, "-c", ASK], check=True, capture_output=True,
                                        text=True).stdout.splitlines()[-3:]
    if not os.path.exists(os.path.join(root, "include", "torch", "csrc", "api", "include")):
        e2e.skip("this PyTorch came without its headers")
    lib = os.path.join(root, "lib")
    lines = (
        ["-shared", "-fPIC", "-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=" + abi,
         *("-isystem" + path for path in include.split()), "train.cpp", "-o", "libtrain.so",
         "-L" + lib, "-Wl,-rpath," + lib, "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"],
        ["linked.cpp", "-o", "linked", "-L.", "-ltrain", "-Wl,-rpath,$ORIGIN",
         "-Wl,-rpath-link," + lib],
        ["loads.cpp", "-std=c++20", "-o", "loads", "-ldl"])
    for line in lines:
        line = [os.path.join(HERE, word) if word.endswith(".cpp") else word for word in line]
        done = subprocess.run([compiler, *line], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            e2e.skip("this PyTorch's headers do not compile here: " + done.stderr[-300:])
    return {"linked": [os.path.join(folder, "linked")],
            "loads": [os.path.join(folder, "loads"), os.path.join(folder, "libtrain.so")]}


class Run:
    """The program by itself and under gpuprof; what it printed about itself and what the trace says."""

    def __init__(self, line, directory, arguments):
        os.makedirs(directory)
        notes_path = os.path.join(directory, "told")
        line = [*line, *arguments, "--told", notes_path]
        self.plain = programs.run_plain(line)
        out, summary = os.path.join(directory, "out"), os.path.join(directory, "summary.json")
        self.done = programs.run_profiled([*WHOLE, "-o", out, "--summary-json", summary], line)
        with open(notes_path, encoding="utf-8") as file:
            rows = [list(map(int, row.split())) for row in file]
        # Three moments of each step: before it, after its forward, after its update.
        self.moments = {row[0]: list(zip(*[iter(row[1:])] * 3)) for row in rows}
        self.trace = torch_trace.read_gpuprof(e2e.traces(out))
        with open(summary, encoding="utf-8") as file:
            self.summary = json.load(file)

    def seen(self, tid):
        """Moments of the steps that began after the first operator that was recorded."""
        first = min(o.start for o in self.trace.operators)
        return [moment for moment in self.moments[tid] if moment[0] >= first]


def unchanged(checks, name, run):
    checks.equal(run.plain.returncode, STATUS, name + ": status by itself")
    checks.equal(run.done.returncode, STATUS, name + ": status under gpuprof")
    checks.equal(run.done.stdout, run.plain.stdout, name + ": stdout")
    checks.equal(run.done.stderr, run.plain.stderr, name + ": stderr")


def operators(checks, name, run):
    for tid in run.moments:
        begins = run.seen(tid)
        own = [o for o in run.trace.operators if o.tid == tid and o.start >= begins[0][0]]
        names = collections.Counter(o.name for o in own)
        checks.expect(len(begins) >= ENOUGH, "%s: steps of thread %d" % (name, tid))
        checks.equal(names["aten::addmm"], 3 * len(begins), "%s: layers of thread %d" % (name, tid))
        checks.equal(names["AddmmBackward0"], 3 * len(begins), "%s: backward of %d" % (name, tid))
        missing = [o for o in own if o.name == "aten::addmm"
                   and len(o.args.get("Input Dims", [])) != 5]
        checks.expect(not missing, "%s: shapes of thread %d: %s" % (name, tid, missing[:1]))
        checks.expect(not [o for o in own if "Call stack" in o.args], name + ": no Python, no stacks")
    widths = {tuple(o.args["Input Dims"][0]) for o in run.trace.operators
              if o.name == "aten::addmm" and "Input Dims" in o.args}
    checks.equal(widths, {(64,), (48,), (10,)}, name + ": widths of the layers")
    balance = collections.Counter()
    for _, args in run.trace.memory:
        balance[args["Bytes"] > 0] += 1
    checks.expect(balance[True] > 500 and balance[False] > 500, "%s: memory %s" % (name, balance))
    checks.equal(run.summary["drops_by_reason"], {}, name + ": drops")


def steps(checks, name, run):
    """Each of our steps begins after an update and before the next forward is done, in the longest
    training."""
    tid, moments = max(run.moments.items(), key=lambda item: len(item[1]))
    found = run.trace.steps
    checks.equal({(s.tid, s.args["source"], s.args["confidence"]) for s in found},
                 {(tid, "period", 0.5)}, name + ": steps")
    expected = run.seen(tid)
    # A first one that is unlike the others, as on a busy machine, may be taken for what is before the first.
    usual = statistics.median(end - begin for begin, _, end in expected)
    if len(found) == len(expected) - 1 and expected[0][2] - expected[0][0] > 3 * usual:
        expected = expected[1:]
    checks.expect(len(expected) <= len(found) <= len(expected) + 1,
                  "%s: %d steps, wanted %d" % (name, len(found), len(expected)))
    found = found[-len(expected):]
    number = moments.index(expected[0])
    for at, step in enumerate(found, number):
        after = moments[at - 1][2] if at else 0
        if not checks.expect(after <= step.start <= moments[at][1],
                             "%s: step %d begins at %d, not in %d..%d"
                             % (name, at, step.start, after, moments[at][1])):
            break


def right_or_none(checks, name, run):
    if run.trace.steps:
        steps(checks, name, run)
    else:
        checks.expect(True, name + ": none")
    print("%s: %d steps" % (name, len(run.trace.steps)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep")
    keep = parser.parse_args().keep
    checks = e2e.Checks()
    with e2e.Folder("torch-cpp") as folder:
        folder = keep or folder
        built = build(programs.python_with_torch(), folder)
        for name, line in built.items():
            # On a busy machine a training of some ms is over before the recording has begun.
            for steps_wanted in (60, 600, 3000):
                run = Run(line, os.path.join(folder, "%s-%d" % (name, steps_wanted)), ["--steps", str(steps_wanted)])
                if all(len(run.seen(tid)) >= ENOUGH for tid in run.moments):
                    break
            unchanged(checks, name, run)
            operators(checks, name, run)
            steps(checks, name, run)
        for option in ("--evaluate", "--uneven"):
            name = "loads " + option
            run = Run(built["loads"], os.path.join(folder, option[2:]), ["--alone", option])
            unchanged(checks, name, run)
            right_or_none(checks, name, run)
        if checks.failed and not keep:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
