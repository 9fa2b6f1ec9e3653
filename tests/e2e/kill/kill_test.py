# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the program, the daemon or the CLI at random moments loses nothing it should not.

usage: kill_test.py [--times N] [--only target|daemon|cli] [--seed N]"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import sim  # noqa: E402
from spools import filled_spool_of, stored_bytes  # noqa: E402
from trace_facts import Facts  # noqa: E402

BUSY = ["--forever", "--progress", "--kernels", "20", "--host-ms", "2", "--step-ms", "5"]
STEPS = 400
# Where it has come to its end before anybody is killed, as on a busy machine: once more with so many more.
MORE_STEPS = (1, 10)
PROGRESS = re.compile(rb"progress monotonic_ns (\d+) realtime_ns (\d+) steps (\d+) kernels (\d+)")
# What the program has published this long before its death is in the file where nobody else needs the processors.
GRACE_NS = 50_000_000


def children(pid):
    """{pid: command line} of all descendants by /proc."""
    parents, names = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as file:
                parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                names[int(entry)] = file.read()
        except OSError:
            pass
    found, todo = {}, [pid]
    while todo:
        parent = todo.pop()
        for child, its in parents.items():
            if its == parent and child not in found:
                found[child] = names.get(child, b"")
                todo.append(child)
    return found


def wait_for(question, seconds=e2e.PATIENCE_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = question()
        if value:
            return value
        time.sleep(0.01)
    return None


def trainer_of(process):
    return wait_for(lambda: next((p for p, c in children(process.pid).items()
                                  if c.split(b"\0")[0].endswith(b"sim_trainer")), None))


def daemon_of(session_marker):
    def find():
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open("/proc/%s/cmdline" % entry, "rb") as file:
                        words = file.read().split(b"\0")
                    if words[0].endswith(b"gpuprofd"):
                        with open("/proc/%s/environ" % entry, "rb") as file:
                            if session_marker in file.read():
                                return int(entry)
                except OSError:
                    pass
        return None
    return wait_for(find)


def start(folder, marker, arguments):
    env = dict(os.environ, GPUSIM_QUIET="1", GPUPROF_TEST_MARKER=marker)
    out = open(os.path.join(folder, "stdout"), "wb")
    err = open(os.path.join(folder, "stderr"), "wb")
    return subprocess.Popen(
        [e2e.GPUPROF, "run", *e2e.FORMAT_OPTION, "-o", os.path.join(folder, "out"), "--step", "nvtx:step", "--",
         *sim.simulated(arguments)], env=env, stdout=out, stderr=err, stdin=subprocess.DEVNULL)


def finite(steps):
    return ["--steps", str(steps), "--progress", "--kernels", "20", "--host-ms", "2", "--step-ms", "5"]


def recorded_kernels(folder):
    return sum(len(Facts(e2e.load(path)).kernels) for path in e2e.traces(folder))


def without_gaps(folder):
    """Whether the kernels in the files are those of the first launches, of which none is missing."""
    facts = [Facts(e2e.load(path)) for path in e2e.traces(folder)]
    kernels = {kernel["args"]["correlation"] for one in facts for kernel in one.kernels}
    launches = {(launch["ts"], launch["args"]["correlation"]) for one in facts for launch in one.launches
                if "LaunchKernel" in launch["name"]}
    there = [correlation in kernels for _, correlation in sorted(launches)]
    return all(there[:sum(there)])


def start_session(folder):
    """Whether the program has printed that it did some steps."""
    return wait_for(lambda: PROGRESS.search(read(folder, "stdout")))


def promised(stdout, died_ns):
    """Kernels the program had finished by GRACE_NS before it died."""
    best = 0
    for mono, _real, _steps, kernels in PROGRESS.findall(stdout):
        if int(mono) <= died_ns - GRACE_NS:
            best = max(best, int(kernels))
    return best


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def kill_target(checks, folder, marker, pause):
    process = start(folder, marker, BUSY)
    target = trainer_of(process)
    start_session(folder)
    time.sleep(pause)
    died_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    os.kill(target, signal.SIGKILL)
    status = process.wait(timeout=e2e.PATIENCE_S)
    checks.expect(status in (-signal.SIGKILL, 128 + signal.SIGKILL), "target: status %d" % status)
    least = promised(read(folder, "stdout"), died_ns)
    got = recorded_kernels(os.path.join(folder, "out"))
    checks.expect(got > 0 and without_gaps(os.path.join(folder, "out")), "target: %d kernels in the file" % got)
    checks.in_time(got >= least, "target: %d kernels in the file, %d were published" % (got, least))
    print("target killed after %.2f s: %d kernels in the file, %d published 50 ms before"
          % (pause, got, least))


def kill_daemon(checks, folder, marker, pause):
    for times in MORE_STEPS:
        inner = os.path.join(folder, str(times))
        os.mkdir(inner)
        killed = killed_daemon(checks, inner, "%s-%d" % (marker, times), pause, times * STEPS)
        if killed:
            return check_daemon_killed(checks, inner, times * STEPS, pause, *killed)
    return checks.expect(False, "daemon: killed while the program ran")


def killed_daemon(checks, folder, marker, pause, steps):
    """(when it was killed, what it had stored); None: it was over before."""
    process = start(folder, marker, finite(steps))
    daemon = daemon_of(marker.encode())
    if not checks.expect(daemon, "daemon: found"):
        process.kill()
        return None
    spool = filled_spool_of(os.path.join(folder, "out"))
    time.sleep(pause)
    stored = stored_bytes(spool)
    died_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    over = process.poll() is not None
    if not over:
        os.kill(daemon, signal.SIGKILL)
    checks.equal(process.wait(timeout=e2e.PATIENCE_S), 0, "daemon: the program's status")
    return None if over else (died_ns, stored)


def check_daemon_killed(checks, folder, steps, pause, died_ns, stored):
    stdout = read(folder, "stdout")
    checks.expect(b"result steps %d" % steps in stdout, "daemon: the program ran to its end")
    out = os.path.join(folder, "out")
    if not e2e.traces(out):
        spools = [n for n in os.listdir(out) if n.startswith(".gpuprof-spool")]
        if checks.expect(spools, "daemon: a spool is left: %s" % os.listdir(out)):
            done = subprocess.run([e2e.GPUPROF, "export", os.path.join(out, spools[0]), "-o", out],
                                  capture_output=True, timeout=e2e.PATIENCE_S)
            checks.equal(done.returncode, 0, "daemon: export: %s" % done.stderr.decode()[-400:])
    # A daemon that gets no processor drains nothing.
    got, least = recorded_kernels(out), promised(stdout, died_ns - 5 * GRACE_NS)
    checks.expect(got > 0 and without_gaps(out), "daemon: %d kernels recovered of %d stored bytes" % (got, stored))
    checks.in_time(got >= least, "daemon: %d kernels recovered, %d were drained" % (got, least))
    print("daemon killed after %.2f s: %d kernels recovered, %d published 250 ms before"
          % (pause, got, least))


def kill_cli(checks, folder, marker, pause):
    process = start(folder, marker, finite(STEPS))
    target = trainer_of(process)
    daemon = daemon_of(marker.encode())
    time.sleep(pause)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=e2e.PATIENCE_S)
    checks.expect(wait_for(lambda: not os.path.exists("/proc/%d" % target)),
                  "cli: the program ends by itself")
    checks.expect(wait_for(lambda: not os.path.exists("/proc/%d" % daemon)),
                  "cli: the daemon ends")
    stdout = read(folder, "stdout")
    checks.expect(b"result steps %d" % STEPS in stdout, "cli: the program ran to its end")
    got = recorded_kernels(os.path.join(folder, "out"))
    match = re.search(rb"result kernels (\d+)", stdout)
    checks.equal(got, int(match.group(1)) if match else -1, "cli: kernels in the files")
    print("cli killed after %.2f s: %d kernels in the files" % (pause, got))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sim.require_build()
    moments = random.Random(arguments.seed)
    checks = e2e.Checks()
    for name, body in (("target", kill_target), ("daemon", kill_daemon), ("cli", kill_cli)):
        if arguments.only not in ("", name):
            continue
        for i in range(arguments.times):
            marker = "marker-%d-%s-%d" % (os.getpid(), name, i)
            with e2e.Folder("kill-" + name) as folder:
                body(checks, folder, marker, moments.uniform(0.3, 1.5))
    checks.done()


if __name__ == "__main__":
    main()
