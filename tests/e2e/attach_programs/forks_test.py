# SPDX-License-Identifier: Apache-2.0
"""gpuprof attach to Python programs that fork all the time. From 3.12 on the interpreter warns on
stderr where it counts a second thread after a fork: it does so once at most, where the program was stopped for us
between a fork and that count, and never while or after it is recorded. Where the program works between its forks
it is recorded; where it does nearly nothing but fork the command may say that it cannot.

usage: forks_test.py [--times N]"""

import argparse
import os
import re
import signal
import subprocess
import threading
import time

import attached
import e2e
import sim
import trace_facts

# What may be said of a program that forks all the time; on a busy machine it does so oftener.
STARVED = ("did not get to run", "does not get to run", "could not run", "cannot run")
TRIES = 5
WAITED_FOR_S = 10.0  # hot::kStarvedMs
FEW = 20  # frames
COUNTING = ("3.12", "3.13", "3.14")


def check_program(checks, folder, python, what, work_s):
    """True if it was recorded."""
    program = attached.Program([python, os.path.join(attached.PROGRAMS, "forks.py"), str(work_s)], folder, what)
    with program:
        recording = attached.record_until(lambda _: True, 1, ["attach", str(program.pid), "-r", "1000"],
                                          os.path.join(folder, what))
        status = program.end()
    warned = [int(at) for at in re.findall(r"warned (\d+)", program.errors())]
    checks.equal((status, program.errors().count("\n")), (0, len(warned)), what + ": its end: " + program.errors())
    # Once, before the recording begins.
    begun_ns = recording.summary["windows"][0]["start_ns"] if recording.summary.get("windows") else recording.ended_ns
    late_ms = [(at - begun_ns) / 1e6 for at in warned]
    checks.in_time(len(warned) <= 1, "%s: warned of a second thread %d times" % (what, len(warned)))
    checks.expect(all(at < begun_ns for at in warned),  # clock: of one and the same, the order
                  "%s: a second thread counted %s ms after the recording had begun" % (what, late_ms))
    checks.expect("ok " in program.text(), what + ": " + program.text())
    if recording.status != 0:
        checks.expect("forks" in recording.stderr, "%s: %s" % (what, recording.stderr))
        if work_s >= 0.1:
            checks.skip(what + ": the worker never had a processor between two forks")
        return False
    # Each fork ends the worker, and what it had begun to sample: short work has no samples.
    if work_s >= 0.1 and not recording.paths:
        checks.skip(what + ": the worker never had a processor between two forks")
    elif work_s >= 0.1:
        names = [e["name"] for e in e2e.load(recording.paths[0])["traceEvents"] if e.get("ph") == "B"]
        # None at all where no sample fell between two forks, and few say little: one may be of a child's start.
        checks.expect(len(names) < FEW or any("forks.py(" in name for name in names),
                      "%s: no frame of it among %s" % (what, names))
        checks.in_time(names, what + ": no sample between two forks")
    return True


class StatusPoller:
    """`gpuprof status`, again and again, as others on the machine may."""

    def __enter__(self):
        self.over, self.times = threading.Event(), 0
        self.thread = threading.Thread(target=self.poll)
        self.thread.start()
        return self

    def poll(self):
        while not self.over.is_set():
            subprocess.run([e2e.GPUPROF, "status"], capture_output=True)
            self.times += 1

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def status_polled(checks, folder, python, times):
    """Nobody listens at the control socket between a fork and the thread's return: who looks then may remove its file, but
    whoever was notified of that control socket finds it once the thread is back."""
    output = subprocess.run([e2e.GPUPROF, "env", "--name", "looked-at"], capture_output=True, text=True).stdout
    armed = attached.environment(**dict(line.split("=", 1) for line in output.splitlines()))
    command = [python, os.path.join(attached.PROGRAMS, "forks.py"), "0.01"]
    for number in range(times):
        for what, words, env in (("attached", ["attach"], None), ("armed", ["capture"], armed)):
            with attached.Program(command, folder, "looked-at-" + what, env=env) as program, StatusPoller() as poller:
                words = [*words, str(program.pid), "-r", "1000"]
                for _ in range(TRIES):
                    recording = attached.record_until(lambda _: True, 0.3, words,
                                                      os.path.join(folder, "looked-at-%s-%d" % (what, number)))
                    if not any(part in recording.stderr for part in STARVED):
                        break
                else:
                    checks.skip("%s: the worker never had a processor between two forks" % what)
                    continue
                checks.equal(recording.status, 0, "%s, asked %d times: %s" % (what, poller.times, recording.stderr))
                checks.equal(program.end(), 0, what + ": its end: " + program.errors())


def starved(checks, folder, python):
    """Threads of gpuprof that get no processor are waited for: the interpreter does not count them."""
    command = [python, os.path.join(attached.PROGRAMS, "forks_starved.py"), "3"]
    with attached.Program(command, folder, "starved") as program:
        recording = attached.record(["attach", str(program.pid), "--stay", "-d", "2s"], os.path.join(folder, "starved"))
        checks.expect(attached.wait_until(lambda: "warned" in program.text()), "starved: " + program.text())
        output = re.search(r"starved (\d+) warned (\d+) longest (\S+) s", program.text())
        checks.expect(output and int(output[1]) > 0, "starved: it saw our threads: " + program.text())
        # Not longer: where they get next to nothing beside all else that wants to run, the fork goes on.
        if output and output[2] != "0" and float(output[3]) >= WAITED_FOR_S:
            checks.skip("starved: gpuprof's threads were not scheduled in %s s" % output[3])
        else:
            checks.equal(output and output[2], "0", "starved: warnings; " + recording.stderr)
        checks.equal(program.end(), -signal.SIGTERM, "starved: its end: " + program.errors())


def in_handlers(checks, folder, times):
    """A native program with one thread, whose handler forks amid malloc: while it is recorded and afterwards, where
    the C library still takes it for one of several threads."""
    command = [os.path.join(e2e.BUILD, "unchanged", "handler_calls"), "fork-on"]
    for number in range(times):
        with attached.Program(command, folder, "handlers-%d" % number) as program:
            recording = attached.record(["attach", str(program.pid), "-d", "0.5s"],
                                        os.path.join(folder, "handlers-%d" % number))
            checks.equal((recording.status, len(recording.paths)), (0, 1), "handlers: " + recording.stderr)
            status = program.end()
            checks.equal((status, program.text()[-9:]), (3, "0 failed\n"), "handlers: its end: " + program.errors())


def own_threads(pid):
    return [thread for thread in attached.footprint(pid).threads if thread.startswith("gpuprof")]


def on_the_gpu(checks, folder):
    """The thread that calls CUPTI for us ends before each fork: it is back also where nothing is recorded."""
    python = os.environ.get("GPUPROF_TORCH_PYTHON")
    if not python:
        checks.skip("forks on the simulated GPU: no PyTorch (GPUPROF_TORCH_PYTHON names one)")
        return
    sim.require_build()
    command = attached.on_gpu([python, os.path.join(attached.PROGRAMS, "forks_cuda.py")])
    with attached.Program(command, folder, "gpu") as program:
        for number, words in enumerate((("attach", str(program.pid), "--stay"), ("capture", str(program.pid)),
                                        ("capture", str(program.pid)))):
            recording = attached.record([*words, "-d", "1s"], os.path.join(folder, "gpu-%d" % number))
            if checks.equal((recording.status, len(recording.paths)), (0, 1), "gpu: " + recording.stderr):
                kernels = len(trace_facts.Facts(e2e.load(recording.paths[0])).kernels)
                print("forks on the simulated GPU, %s: %d kernels" % (words[0], kernels), flush=True)
                checks.in_time(kernels > 0, "gpu: %d kernels in recording %d" % (kernels, number))
            time.sleep(0.7)  # it forks meanwhile
            wanted = ["gpuprof", "gpuprof-flush"]  # gone for a moment at each fork
            checks.expect(attached.wait_until(lambda: own_threads(program.pid) == wanted),
                          "gpu: our threads while it waits: %s" % own_threads(program.pid))
        checks.equal(program.end(), 0, "gpu: its end: " + program.errors())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2)
    times = parser.parse_args().times
    attached.require_attach()
    checks = e2e.Checks()
    with e2e.Folder("attach-forks") as folder:
        for version in COUNTING:
            python = e2e.real_python("python" + version)
            if python is None:
                checks.skip("no python%s here" % version)
                continue
            for work_s in (0, 0.01, 0.1):
                recorded = [check_program(checks, folder, python, "%s-%g-%d" % (version, work_s, i), work_s)
                            for i in range(times)]
                print("%s, %g s of work between forks: recorded %d of %d" % (version, work_s, sum(recorded), times),
                      flush=True)
            if version == COUNTING[1]:
                status_polled(checks, folder, python, times)
                starved(checks, folder, python)
        in_handlers(checks, folder, times)
        on_the_gpu(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
