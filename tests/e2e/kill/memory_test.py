# SPDX-License-Identifier: Apache-2.0
"""A program that dies for want of memory: its own status, and a file that holds what it published.

usage: memory_test.py [--only kernel|kernel-gpu|limit|python|little-room|mid-allocation]"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import live  # noqa: E402
import sim  # noqa: E402
from kill_test import PROGRESS, children, promised, recorded_kernels, wait_for, without_gaps  # noqa: E402
from memory_group import MemoryGroup  # noqa: E402
from spools import spool_of  # noqa: E402

GROW = os.path.join(e2e.BUILD, "kill", "kill_grow")
MIB = 1 << 20
PY_GROW = "x = []\ndef grow():\n    x.append(bytearray(1 << 20))\n    return sum(range(20000))\n" \
          "while True: grow()\n"


def options(folder):
    return ["-r", "500", "-o", os.path.join(folder, "out"), "--summary-json",
            os.path.join(folder, "summary.json")]


def check_file(checks, name, folder, function, status, wanted, message):
    """The status is the program's; the file has every sample that was taken, with its function."""
    checks.equal(status, wanted, name + ": status")
    with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
        summary = json.load(file)
    paths = e2e.traces(os.path.join(folder, "out"))
    if not checks.equal(len(paths), 1, "%s: one file: %s" % (name, message)):
        return
    taken, kept = summary["overhead"]["samples"], sum(p["samples"] for p in summary["processes"])
    # The sample that was being taken when the program died has been counted, not published.
    checks.expect(kept >= taken - 1 and kept > 0, "%s: %d of %d samples" % (name, kept, taken))
    trace = e2e.load(paths[0])
    checks.expect(function in json.dumps(trace), "%s: the file names %s" % (name, function))
    if wanted < 0:
        ended = "was killed by signal %d" % -wanted
        checks.expect(ended in " ".join(trace["gpuprof"]["notices"]), "%s: the file says how it ended" % name)
    checks.expect(summary["complete"], name + ": nothing is left behind")
    print("%s: status %s, %d of %d samples in the file" % (name, status, kept, taken))


def kernel(checks, folder):
    """The kernel's out-of-memory killer in a memory cgroup of 128 MiB."""
    with MemoryGroup("gpuprof-test", 128 * MIB) as group:
        if group is None:
            return checks.skip("kernel: no memory cgroup can be made here")
        result = e2e.gpuprof(options(folder), ["sh", "-c", group.shell() + " && exec " + GROW])
        checks.equal(group.oom_kills(), 1, "kernel: it was the kernel that killed")
        check_file(checks, "kernel", folder, "fill_block", result.returncode, -signal.SIGKILL,
                   result.stderr.decode())


def kernel_gpu(checks, folder):
    """The same while it trains on the simulated GPU: memory goes to a neighbour in the group."""
    with MemoryGroup("gpuprof-test", 256 * MIB) as group:
        if group is None:
            return checks.skip("kernel-gpu: no memory cgroup can be made here")
        train = ["--forever", "--progress", "--kernels", "20", "--host-ms", "2", "--step-ms", "5"]
        # The trainer offers itself, so that the neighbour's growth is what kills it.
        spools = os.path.join(folder, "out") + "/.gpuprof-spool-*"
        script = "%s && { { while [ ! -e %s/*.spool ]; do sleep 0.05; done; sleep 1; " \
                 "while [ -z \"$(find %s -name '*.spool' -size +11k)\" ]; do sleep 0.05; done; " \
                 "exec %s >/dev/null 2>&1; } & } && echo 1000 >/proc/self/oom_score_adj && exec \"$@\"" % (
                     group.shell(), spools, spools, GROW)
        result = e2e.gpuprof(["-o", os.path.join(folder, "out"), "--step", "nvtx:step"],
                             ["sh", "-c", script, "sh", *sim.simulated(train)], env=dict(os.environ, GPUSIM_QUIET="1"))
        checks.expect(group.oom_kills() >= 1, "kernel-gpu: it was the kernel that killed")
        checks.equal(result.returncode, -signal.SIGKILL, "kernel-gpu: status")
        lines = PROGRESS.findall(result.stdout)
        if not checks.expect(lines, "kernel-gpu: it trained: %s" % result.stderr.decode()[-500:]):
            return
        least = promised(result.stdout, int(lines[-1][0]))
        got = recorded_kernels(os.path.join(folder, "out"))
        checks.expect(got > 0 and without_gaps(os.path.join(folder, "out")), "kernel-gpu: %d kernels" % got)
        checks.in_time(got >= least, "kernel-gpu: %d kernels in the file, %d published" % (got, least))
        print("kernel-gpu: %d kernels in the file, %d published 50 ms before the last line"
              % (got, least))


def limited(folder, command):
    for _ in range(5):
        shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
        result = e2e.gpuprof(options(folder), command)
        # On a busy machine it may have grown before we looked how much is left: then a message is all there is.
        if b"nothing was recorded: recording would take" not in result.stderr:
            break
    return result


def limit(checks, folder):
    """RLIMIT_AS: the program dies of std::bad_alloc, and its own message is there."""
    command = ["sh", "-c", "ulimit -v 400000; exec " + GROW]
    plain = subprocess.run(command, capture_output=True, timeout=e2e.PATIENCE_S)
    result = limited(folder, command)
    checks.equal(plain.returncode, -signal.SIGABRT, "limit: it dies so without gpuprof")
    checks.expect(b"std::bad_alloc" in result.stderr, "limit: the program's own message: %r" % result.stderr)
    check_file(checks, "limit", folder, "fill_block", result.returncode, plain.returncode,
               result.stderr.decode())


def python(checks, folder):
    """RLIMIT_AS and Python: MemoryError, a traceback, status 1."""
    result = limited(folder, ["sh", "-c", "ulimit -v 400000; exec \"$@\"", "sh", e2e.real_python(), "-c", PY_GROW])
    checks.expect(b"MemoryError" in result.stderr, "python: its own message")
    check_file(checks, "python", folder, "grow", result.returncode, 1, result.stderr.decode())


def little_room(checks, folder):
    """RLIMIT_AS so low that our mappings would take what the program needs: it is left alone, and that is reported."""
    code = "import mmap\nsum(range(3000000))\nmmap.mmap(-1, 70 << 20)\nprint('given')"
    command = ["sh", "-c", "ulimit -v 200000; exec \"$@\"", "sh", e2e.real_python(), "-c", code]
    result = e2e.gpuprof(options(folder), command)
    checks.equal((result.returncode, result.stdout), (0, b"given\n"), "little room: the program")
    checks.expect(b"MiB of address space that the program has left" in result.stderr, "little room: it is reported: %s" % result.stderr.decode())
    checks.expect(b"exec" not in result.stderr, "little room: it became no other program: %s" % result.stderr.decode())


def mid_allocation(checks, folder):
    """SIGKILL while it takes memory as fast as it can."""
    process = subprocess.Popen([e2e.GPUPROF, "run", *options(folder), "--", GROW],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    target = wait_for(lambda: next((p for p, c in children(process.pid).items()
                                    if c.split(b"\0")[0].endswith(b"kill_grow")), None))
    spool_of(os.path.join(folder, "out"))
    live.let_run(target, 0.6, 1 / 3)
    os.kill(target, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=e2e.PATIENCE_S)
    grown = re.findall(rb"grown (\d+)", stdout)
    checks.expect(grown, "mid-allocation: it grew before it died")
    check_file(checks, "mid-allocation", folder, "fill_block", process.returncode, -signal.SIGKILL,
               stderr.decode())


ROWS = [("kernel", kernel), ("kernel-gpu", kernel_gpu), ("limit", limit), ("python", python), ("little-room", little_room),
        ("mid-allocation", mid_allocation)]


def main():
    sim.require_build()
    if not os.path.exists(GROW):
        e2e.skip("not built: " + GROW)
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    checks = e2e.Checks()
    for name, body in ROWS:
        if only in ("", name):
            with e2e.Folder("memory") as folder:
                body(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
