# SPDX-License-Identifier: Apache-2.0
"""gpuprof diff of runs on the simulated GPU: equal ones, longer copies, more kernels.

usage: gpu_test.py [--live | --record]
What is claimed is judged from recorded/, what is counted from new runs; --live and --record as in diff_test.py."""

import os
import sys

import recordings
import sim
from recordings import e2e

COPY = "Memcpy HtoD (Pinned -> Device)"


def record(folder, name, *trainer):
    path = os.path.join(folder, name)
    done = sim.run(["-q", "-o", path, "--step", "nvtx:step"],
                   ["--steps", "40", "--host-ms", "0", *trainer])
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return path


def on_gpu(process):
    """Names of GPU work that are claimed to have changed."""
    return [row["name"] for row in process["names"]
            if row["significant"] and row["kind"] in ("kernel", "copy")]


def check_findings(check, paths, live):
    """What is claimed of times."""
    equal = recordings.compared(paths["gpu"], paths["gpu_equal"])
    process = recordings.compared(paths["gpu"], paths["gpu_longer"])
    expect = check.in_time if live else check.expect
    expect(recordings.findings(equal) == [], "claimed of equal runs: %r" % recordings.findings(equal))
    expect(on_gpu(process) == [COPY], "copies of a third more bytes are named: %r" % on_gpu(process))
    done = recordings.diff(paths["gpu"], paths["gpu_longer"], "--fail-if", "copy:HtoD > +5%",
                           "--fail-if", "kernel_time > +5%")
    expect((done.returncode, done.stderr.count(b"holds: ")) == (1, 1), "one condition holds: %r" % done.stderr)
    more = recordings.findings(recordings.compared(paths["gpu"], paths["gpu_more"]))
    expect("kernels" in more, "more kernels: %r" % more)


def counted(check, paths):
    equal = recordings.compared(paths["gpu"], paths["gpu_equal"])
    check.expect("kernel_time" in equal["metrics"], "kernels are compared")
    done = recordings.diff(paths["gpu"], paths["gpu_longer"])
    check.expect(done.stdout.startswith(b"GPU work ran on the simulated GPU"),
                 "that the GPU was simulated is said")
    row = recordings.compared(paths["gpu"], paths["gpu_more"])["metrics"]["kernels"]
    check.equal((row["before"], row["after"]), (24, 32), "kernels of a step")


def main():
    sim.require_build()
    check = e2e.Checks()
    live = sys.argv[1:] in (["--live"], ["--record"])
    with e2e.Folder("diff-gpu") as folder:
        made = {name: record(folder, name, *words) for name, words in recordings.GPU_RUNS.items()}
        counted(check, made)
        os.mkdir(os.path.join(folder, "kept"))
        check_findings(check, made if live else recordings.load_recorded(os.path.join(folder, "kept"), recordings.GPU_RUNS), live)
        if check.failed or check.too_slow:
            raise SystemExit(check.done())
        if sys.argv[1:] == ["--record"]:
            recordings.keep(made)
    check.done()


main()
