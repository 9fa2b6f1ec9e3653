# SPDX-License-Identifier: Apache-2.0
"""gpuprof attach to Python programs that fork all the time. From 3.12 on the interpreter warns on
stderr where it counts a second thread after a fork: it does so once at most, where the program was stopped for us
between a fork and that count, and never while or after it is recorded. Where the program works between its forks
it is recorded; where it does nearly nothing but fork the command may say that it cannot.

usage: forks_test.py [--times N]"""

import argparse
import os
import re
import subprocess
import threading
import time

import attached
import e2e
import sim
import trace_facts

BROUGHT_IN_S = 0.7  # below the length of the recording
COUNTING = ("3.12", "3.13", "3.14")


def one(checks, folder, python, what, work_s):
    """True if it was recorded."""
    program = attached.Program([python, os.path.join(attached.PROGRAMS, "forks.py"), str(work_s)], folder, what)
    with program:
        recording = attached.record(["attach", str(program.pid), "-d", "1s"], os.path.join(folder, what))
        status = program.end()
    warned = [int(at) for at in re.findall(r"warned (\d+)", program.errors())]
    checks.equal((status, program.errors().count("\n")), (0, len(warned)), what + ": its end: " + program.errors())
    after_s = [(at - recording.began_ns) / 1e9 for at in warned]
    checks.expect(len(after_s) <= 1 and all(s < BROUGHT_IN_S for s in after_s),
                  "%s: a second thread counted %s s after the command's start" % (what, after_s))
    checks.expect("ok " in program.text(), what + ": " + program.text())
    if recording.status != 0:
        checks.expect(work_s < 0.1 and "forks" in recording.stderr, "%s: %s" % (what, recording.stderr))
        return False
    # Each fork ends the worker, and what it had begun to sample: short work has no samples.
    if work_s >= 0.1:
        names = [e["name"] for e in e2e.load(recording.paths[0])["traceEvents"] if e.get("ph") == "B"]
        checks.expect(any("forks.py(" in name for name in names), "%s: no frame of it among %d" % (what, len(names)))
    return True


class Asking:
    """`gpuprof status`, again and again, as others on the machine may."""

    def __enter__(self):
        self.over, self.times = threading.Event(), 0
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()
        return self

    def ask(self):
        while not self.over.is_set():
            subprocess.run([e2e.GPUPROF, "status"], capture_output=True)
            self.times += 1

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def looked_at(checks, folder, python, times):
    """Nobody listens at the door between a fork and the thread's return: who looks then may remove its file, but
    whoever was told of that door finds it once the thread is back."""
    said = subprocess.run([e2e.GPUPROF, "env", "--name", "looked-at"], capture_output=True, text=True).stdout
    armed = attached.environment(**dict(line.split("=", 1) for line in said.splitlines()))
    command = [python, os.path.join(attached.PROGRAMS, "forks.py"), "0.01"]
    for number in range(times):
        for what, words, env in (("attached", ["attach"], None), ("armed", ["capture"], armed)):
            with attached.Program(command, folder, "looked-at-" + what, env=env) as program, Asking() as asking:
                words = [*words, str(program.pid), "-d", "300ms"]
                recording = attached.record(words, os.path.join(folder, "looked-at-%s-%d" % (what, number)))
                checks.equal((recording.status, len(recording.paths)), (0, 1),
                             "%s, asked %d times: %s" % (what, asking.times, recording.stderr))
                checks.equal(program.end(), 0, what + ": its end: " + program.errors())


def own_threads(pid):
    return [thread for thread in attached.footprint(pid).threads if thread.startswith("gpuprof")]


def on_the_gpu(checks, folder):
    """The thread that calls CUPTI for us ends before each fork: it is back also where nothing is recorded."""
    python = os.environ.get("GPUPROF_TORCH_PYTHON")
    if not python:
        checks.skip("forks on the simulated GPU: no PyTorch (GPUPROF_TORCH_PYTHON names one)")
        return
    sim.need()
    command = attached.on_gpu([python, os.path.join(attached.PROGRAMS, "forks_cuda.py")])
    with attached.Program(command, folder, "gpu") as program:
        for number, words in enumerate((("attach", str(program.pid), "--stay"), ("capture", str(program.pid)),
                                        ("capture", str(program.pid)))):
            recording = attached.record([*words, "-d", "1s"], os.path.join(folder, "gpu-%d" % number))
            if checks.equal((recording.status, len(recording.paths)), (0, 1), "gpu: " + recording.stderr):
                kernels = len(trace_facts.Facts(e2e.load(recording.paths[0])).kernels)
                print("forks on the simulated GPU, %s: %d kernels" % (words[0], kernels), flush=True)
                checks.expect(kernels > 0, "gpu: %d kernels in recording %d" % (kernels, number))
            time.sleep(0.7)  # it forks meanwhile
            wanted, end = ["gpuprof", "gpuprof-flush"], time.monotonic() + 3  # gone for a moment at each fork
            while (names := own_threads(program.pid)) != wanted and time.monotonic() < end:
                time.sleep(0.02)
            checks.equal(names, wanted, "gpu: our threads while it waits")
        checks.equal(program.end(), 0, "gpu: its end: " + program.errors())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2)
    times = parser.parse_args().times
    attached.need()
    checks = e2e.Checks()
    with e2e.Folder("attach-forks") as folder:
        for version in COUNTING:
            python = e2e.real_python("python" + version)
            if python is None:
                checks.skip("no python%s here" % version)
                continue
            for work_s in (0, 0.01, 0.1):
                recorded = [one(checks, folder, python, "%s-%g-%d" % (version, work_s, i), work_s)
                            for i in range(times)]
                print("%s, %g s of work between forks: recorded %d of %d" % (version, work_s, sum(recorded), times),
                      flush=True)
            if version == COUNTING[1]:
                looked_at(checks, folder, python, times)
        on_the_gpu(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
