# SPDX-License-Identifier: Apache-2.0
"""Steps of programs nobody edited, found by gpuprof, against a hidden marker in each: same number,
boundaries between the right operators, nothing invented where there is no step.

usage: steps_test.py [--only NAME,…] [--not NAME,…] [--python PATH] [--keep FOLDER] [--jobs N] [--list]"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys

import e2e
import judge
import torch_trace
from table import TABLE
from torch_python import python_with_torch

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
WHOLE = ["--span-size", "100000000"]  # one file a process


def environment(folder):
    return dict(os.environ, STEP_TRUTH=os.path.join(folder, "truth.json"), OMP_NUM_THREADS="1",
                TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "inductor"), CUDA_VISIBLE_DEVICES="",
                TORCHINDUCTOR_COMPILE_THREADS="1", HF_HUB_OFFLINE="1")


def read_notes(folder):
    path = os.path.join(folder, "truth.json")
    return judge.load(path) if os.path.exists(path) else {"steps": []}


def run(python, command, folder, arguments=(), timeout=600):
    """One program under gpuprof: (CompletedProcess, true steps, paths of the traces)."""
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    script, *rest = command.split()
    done = e2e.gpuprof(["-o", out, *arguments], [python, os.path.join(PROGRAMS, script), *rest],
                       env=environment(folder), timeout=timeout)
    return done, read_notes(folder)["steps"], e2e.traces(out)


def described(program, trace):
    """What is wrong with what the steps say of themselves."""
    wrong = []
    script = program.where or program.command.split()[0]
    for step in trace.steps:
        if step.args.get("source") != program.source:
            wrong.append("step %d was found by %r instead of %r"
                         % (step.label, step.args.get("source"), program.source))
        where = str(step.args.get("where", ""))
        if program.source != "user" and script != "-" and script + ":" not in where:
            wrong.append("step %d is an iteration of %r instead of a loop of %s"
                         % (step.label, where, script))
    return wrong[:2]


def examine(program, done, truth, paths, labels):
    """Sentences on what is wrong with one run."""
    if done.returncode != 0:
        return ["status %d: %s" % (done.returncode, done.stderr.decode()[-1500:])]
    if len(truth) != program.steps:
        return ["the program noted %d steps instead of %d" % (len(truth), program.steps)]
    if len(paths) != 1:
        return ["%d files instead of 1" % len(paths)]
    trace = torch_trace.read_gpuprof(paths)
    if not trace.operators:
        return ["the file holds no operator"]
    if not program.steps:
        return ["%d steps were invented (%s)" % (len(trace.steps), trace.steps[0].args)
                for _ in trace.steps[:1]]
    wrong = judge.check_steps(truth, trace, tail=program.tail,
                              open_head=program.where == "-", labels=labels)
    return wrong[:4] + described(program, trace)


def one(python, name, folder):
    """(what is wrong, a line to print, skipped)."""
    program = TABLE[name]
    os.makedirs(folder, exist_ok=True)
    try:
        done, truth, paths = run(python, program.command, folder,
                                WHOLE + list(program.options), program.timeout)
    except subprocess.TimeoutExpired:
        return ["not done after %d s" % program.timeout], "", False
    if done.returncode == 77:
        return [], "%s: this PyTorch or a package lacks it" % name, True
    wrong = examine(program, done, truth, paths, read_notes(folder).get("labels"))
    return wrong, "%s: %d steps" % (name, len(truth)), False


def usable(name):
    compilers = [os.environ.get("CXX"), "c++", "g++", "clang++"]
    return TABLE[name].needs != "compiler" or any(
        subprocess.run(["sh", "-c", "command -v " + c], capture_output=True).returncode == 0
        for c in compilers if c)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(TABLE))
    parser.add_argument("--not", dest="without", default="")
    parser.add_argument("--python", help="the interpreter with PyTorch")
    parser.add_argument("--keep", help="leave all files in this folder")
    parser.add_argument("--jobs", type=int, default=2, help="programs at once")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    return parser.parse_args()


def main():
    wanted = arguments()
    names = [n for n in wanted.only.split(",") if n not in wanted.without.split(",")]
    unknown = [n for n in names if n not in TABLE]
    if wanted.list or unknown:
        print("\n".join(TABLE) if wanted.list else "no program named " + ", ".join(unknown))
        sys.exit(2 if unknown else 0)
    python = python_with_torch(wanted.python)
    checks = e2e.Checks()
    with e2e.Folder("steps") as folder, \
            concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        base = wanted.keep or folder
        results = pool.map(lambda n: one(python, n, os.path.join(base, n)) if usable(n) else
                           ([], n + ": no compiler of C++", True), names)
        for name, (wrong, line, skipped) in zip(names, results):
            if skipped:
                checks.skip(line)
                continue
            print("%-40s %s" % (line, "; ".join(wrong) if wrong else "right"), flush=True)
            checks.expect(not wrong, "%s: %s" % (name, "; ".join(wrong)))
        if checks.failed and not wanted.keep:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
