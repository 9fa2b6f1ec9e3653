# SPDX-License-Identifier: Apache-2.0
"""A C++ program that trains in the Python inside it: operators, stacks, modules and steps as in any
other Python. Built here, with the shared library of the Python that has PyTorch.

usage: embed_test.py"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import e2e  # noqa: E402
import torch_programs as programs  # noqa: E402
import torch_trace  # noqa: E402

STATUS = 7  # of the program
SCRIPT = os.path.join(HERE, "training.py")
STEPS = 24
ASK = """import os, sys, sysconfig, torch
print(os.path.join(sysconfig.get_config_var('LIBDIR'), sysconfig.get_config_var('LDLIBRARY')))
print(sys.base_prefix)
print(os.path.dirname(torch.__path__[0]))"""


def build(python, folder):
    """The program, and the environment in which the Python inside it finds PyTorch."""
    compiler = shutil.which("g++") or e2e.skip("no g++ here")
    library, home, packages = subprocess.run(
        [python, "-c", ASK], check=True, capture_output=True, text=True).stdout.splitlines()[-3:]
    if ".so" not in os.path.basename(library) or not os.path.exists(library):
        e2e.skip("the Python that has PyTorch here has no shared library to link with")
    program = os.path.join(folder, "embeds")
    subprocess.run([compiler, os.path.join(HERE, "embeds.cpp"), "-o", program, library,
                    "-Wl,-rpath," + os.path.dirname(library)], check=True)
    return program, dict(programs.environment(), PYTHONHOME=home, PYTHONPATH=packages,
                         TOLD=os.path.join(folder, "told"))


def frames(operator):
    return operator.args.get("Call stack", "").split(";")


def check(checks, how, trace):
    file = SCRIPT if how == "file" else "<string>"
    with open(os.environ["TOLD"], encoding="utf-8") as log:
        moments = [tuple(map(int, line.split())) for line in log]
    checks.equal(len(moments), STEPS, how + ": what the program printed")
    layers = [o for o in trace.operators if o.name == "aten::linear"]
    checks.equal(len(layers), 2 * STEPS, how + ": layers")
    for operator in layers:
        log = [f for f in frames(operator) if file in f]
        if not checks.expect(len(log) == 3 and log[0].endswith("forward") and
                             log[1].endswith(": train"), "%s: stack %s" % (how, frames(operator))):
            break
    checks.expect(all(len(o.args.get("Input Dims", [])) == 3 for o in layers), how + ": shapes")
    names = {m.name for m in trace.modules}
    checks.equal(names, {"nn.Module: Net_0", "nn.Module: Linear_0", "nn.Module: Linear_1"},
                 how + ": modules")
    checks.expect(len(trace.memory) > 10 * STEPS, how + ": memory")
    checks.equal({s.args["source"] for s in trace.steps}, {"loop+optimizer"}, how + ": steps")
    checks.expect(all(s.args["where"].startswith(file + ":") for s in trace.steps),
                  "%s: loop %s" % (how, trace.steps[:1]))
    checks.equal([i for i, step in enumerate(trace.steps)
                  if not moments[i][0] <= step.start <= moments[i][1]], [], how + ": boundaries")
    checks.equal(len(trace.steps), STEPS, how + ": number of steps")


def main():
    python = programs.python_with_torch()
    checks = e2e.Checks()
    with e2e.Folder("torch-embed") as folder:
        program, environment = build(python, folder)
        os.environ.update(environment)
        for how in ("string", "file"):
            out, line = os.path.join(folder, how), [program, how, SCRIPT]
            plain = programs.run_plain(line)
            checks.equal(plain.returncode, STATUS, how + " by itself: " + plain.stderr.decode()[-500:])
            done = programs.run_profiled(["-f", "--span-size", "100000000", "-o", out], line)
            checks.equal((done.returncode, done.stdout, done.stderr),
                         (STATUS, plain.stdout, plain.stderr), how + ": unchanged")
            check(checks, how, torch_trace.read_gpuprof(e2e.traces(out)))
    checks.done()


if __name__ == "__main__":
    main()
