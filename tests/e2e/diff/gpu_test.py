# SPDX-License-Identifier: Apache-2.0
"""gpuprof diff of runs on the simulated GPU: equal ones, longer copies, more kernels."""

import os

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


def main():
    sim.need()
    check = e2e.Checks()
    with e2e.Folder("diff-gpu") as folder:
        before = record(folder, "before")
        equal = recordings.compared(before, record(folder, "equal"))
        check.equal(recordings.claims(equal), [], "claimed of equal runs")
        check.expect("kernel_time" in equal["metrics"], "kernels are compared")

        longer = record(folder, "longer", "--copy-bytes", "1400000")
        process = recordings.compared(before, longer)
        check.equal(on_gpu(process), [COPY], "copies of a third more bytes are named")
        done = recordings.diff(before, longer, "--fail-if", "copy:HtoD > +5%",
                               "--fail-if", "kernel_time > +5%")
        check.equal((done.returncode, done.stderr.count(b"holds: ")), (1, 1), "one condition holds")
        check.expect(done.stdout.startswith(b"GPU work was done on the simulated GPU"),
                     "that the GPU was simulated is said")

        more = recordings.compared(before, record(folder, "more", "--kernels", "32"))
        check.expect("kernels" in recordings.claims(more), "more kernels: %r" %
                     recordings.claims(more))
        row = more["metrics"]["kernels"]
        check.equal((row["before"], row["after"]), (24, 32), "kernels of a step")
        if check.failed:
            raise RuntimeError("%d failed; kept for a look" % check.failed)
    check.done()


main()
