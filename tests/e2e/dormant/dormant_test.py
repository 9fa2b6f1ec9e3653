# SPDX-License-Identifier: Apache-2.0
"""Descendants that have no reason to wake stay dormant; Python ones are counted.

usage: dormant_test.py [--measure]   with --measure: also the cost per process, as figures"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402

LOOP = """
import os, sys, time
rows = []
for _ in range(int(sys.argv[1])):
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
    os.waitpid(pid, 0)
    rows.append(time.perf_counter_ns() - begin)
open(os.environ['ROWS'], 'w').write(repr(rows))
"""


def strace_is_quiet(checks, folder):
    if shutil.which("strace") is None:
        checks.skip("strace is not installed")
        return
    log = os.path.join(folder, "strace")
    e2e.gpuprof(["-q", "-o", os.path.join(folder, "a")],
                ["sh", "-c", "strace -f -o %s /bin/true; true" % log])
    with open(log, encoding="utf-8") as file:
        lines = file.read().splitlines()
    checks.expect(any("execve" in line for line in lines), "strace saw /bin/true")
    checks.expect(any("libgpuprof_inject" in line for line in lines), "the library was loaded")
    for call in ("socket(", "clone(", "clone3(", "connect(", "memfd_create("):
        checks.equal([line for line in lines if call in line], [], "no %s in /bin/true" % call)


def pythons_are_counted(checks, folder, count):
    summary = os.path.join(folder, "summary.json")
    python = e2e.real_python()
    e2e.gpuprof(["-q", "-o", os.path.join(folder, "b"), "--summary-json", summary],
                ["sh", "-c", "for i in $(seq %d); do %s -c pass; done" % (count, python)])
    with open(summary, encoding="utf-8") as file:
        data = json.load(file)
    seen = [p for p in data["processes"] if "python" in p.get("exe", p.get("name", ""))]
    checks.equal(len(seen), count, "each python3 is counted in the summary")


def measure(folder, program, count):
    """Median ns per child under gpuprof and under an empty preload."""
    script = os.path.join(folder, "loop.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(LOOP)
    rows = os.path.join(folder, "rows")
    python = e2e.real_python()
    command = [python, "-S", script, str(count), *program]
    empty = os.path.join(e2e.BUILD, "dormant", "libdormant_empty.so")
    medians = {}
    for name in ("empty", "gpuprof") * 3:
        env = dict(os.environ, ROWS=rows)
        if name == "empty":
            subprocess.run(command, env=dict(env, LD_PRELOAD=empty), check=True)
        else:
            e2e.gpuprof(["-q", "-r", "10", "-o", os.path.join(folder, "m")], command, env=env)
        with open(rows, encoding="utf-8") as file:
            medians.setdefault(name, []).append(statistics.median(eval(file.read())))
    return min(medians["empty"]), min(medians["gpuprof"])


def main():
    if not os.path.exists(e2e.GPUPROF):
        e2e.skip("not built: " + e2e.GPUPROF)
    checks = e2e.Checks()
    begin = time.monotonic()
    with e2e.Folder("dormant") as folder:
        strace_is_quiet(checks, folder)
        pythons_are_counted(checks, folder, 20)
        if "--measure" in sys.argv:
            for program, count in ((["/bin/true"], 1000), ([e2e.real_python(), "-c", "pass"], 200)):
                empty, ours = measure(folder, program, count)
                print("%s: median %.1f us under an empty library, %.1f us under gpuprof: +%.1f us"
                      % (os.path.basename(program[0]), empty / 1e3, ours / 1e3,
                         (ours - empty) / 1e3))
    print("%.1f s" % (time.monotonic() - begin))
    checks.done()


if __name__ == "__main__":
    main()
