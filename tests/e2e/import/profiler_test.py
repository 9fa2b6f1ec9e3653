# SPDX-License-Identifier: Apache-2.0
"""A fresh trace of torch.profiler through `gpuprof export`: what it held is in our file.

usage: profiler_test.py [--python PATH]"""

import argparse
import collections
import gzip
import os
import subprocess
import sys

import e2e
from torch_python import python_with_torch

HERE = os.path.dirname(os.path.abspath(__file__))
INPUTS = ("Input Dims", "Input type", "Concrete Inputs", "Sequence number")
LINE = 17  # of programs/profiled.py: the call of the net


def ns(trace, event):
    return trace["baseTimeNanoseconds"] + round(event["ts"] * 1000)


def operators(trace):
    """Every operator and range but the steps: where, when, what, with which inputs."""
    return collections.Counter(
        (e["name"], e["tid"], ns(trace, e), round(e["dur"] * 1000),
         *(str(e["args"].get(key)) for key in INPUTS))
        for e in trace["traceEvents"] if e["ph"] == "X" and
        e.get("cat") in ("cpu_op", "user_annotation") and not e["name"].startswith("ProfilerStep#"))


def memory(trace):
    keys = ("Bytes", "Addr", "Device Type", "Device Id", "Total Allocated", "Total Reserved")
    return collections.Counter(
        (e["tid"], ns(trace, e), *(e["args"].get(key) for key in keys))
        for e in trace["traceEvents"] if e["name"] == "[memory]")


def steps(trace):
    return sorted((e["name"], ns(trace, e)) for e in trace["traceEvents"]
                  if e["ph"] == "X" and e["name"].startswith("ProfilerStep#"))


def modules(trace):
    return {e["name"] for e in trace["traceEvents"] if e["name"].startswith("nn.Module: ")}


def arrows(trace):
    return sum(e.get("cat") == "fwdbwd" and e["ph"] == "s" for e in trace["traceEvents"])


def check(checks, source, recorded, what):
    checks.equal(operators(recorded), operators(source), what + ": operators")
    checks.equal(memory(recorded), memory(source), what + ": memory records")
    checks.equal(steps(recorded), steps(source), what + ": steps")
    checks.expect(modules(source) and modules(recorded) <= modules(source), what + ": modules %s of %s" % (
        sorted(modules(recorded)), sorted(modules(source))))
    for name in ("nn.Module: Conv2d_0", "nn.Module: Linear_0"):
        checks.expect(name in modules(recorded), "%s: %s" % (what, name))
    checks.expect(arrows(recorded) > 0 and arrows(source) > 0, what + ": arrows to backward nodes")
    stacks = [e["args"].get("Call stack", "") for e in recorded["traceEvents"]
              if e.get("cat") == "cpu_op" and e["name"] == "aten::conv2d"]
    checks.equal(len(stacks), 3, what + ": convolutions")
    for stack in stacks:
        checks.expect("profiled.py(%d): train" % LINE in stack, what + ": the script's line in " + stack)
    checks.equal(recorded["host_name"], source["host_name"], what + ": host")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python")
    python = python_with_torch(parser.parse_args().python)
    checks = e2e.Checks()
    with e2e.Folder("import") as folder:
        files = [os.path.join(folder, name) for name in ("plain.json", "packed.json.gz")]
        done = subprocess.run([python, os.path.join(HERE, "programs", "profiled.py"), files[0]],
                              capture_output=True, text=True, timeout=600, check=False)
        if not checks.equal(done.returncode, 0, "the program: " + done.stderr[-500:]):
            checks.done()
        with open(files[0], "rb") as plain, gzip.open(files[1], "wb") as packed:
            packed.write(plain.read())
        for path in files:
            name = os.path.basename(path)
            out = os.path.join(folder, "out-" + name)
            done = subprocess.run([e2e.GPUPROF, "export", path, "-o", out], capture_output=True,
                                  text=True, timeout=600, check=False)
            checks.equal(done.returncode, 0, name + ": " + done.stderr)
            written = e2e.traces(out)
            if checks.equal(len(written), 1, name + ": files"):
                check(checks, e2e.load(path), e2e.load(written[0]), name)
    checks.done()


if __name__ == "__main__":
    sys.exit(main())
