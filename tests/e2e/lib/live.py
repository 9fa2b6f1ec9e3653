# SPDX-License-Identifier: Apache-2.0
"""Programs that run already, and what can be seen of gpuprof in them from outside."""

import atexit
import glob
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time

import e2e
from e2e import PATIENCE_S
from torch_trace import MARGIN_NS

PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable
# Half of the time at work: there is something to sample, and others get the processor too. Ends by itself, also at USR2.
BUSY = """
import os, signal, sys, time
over = []
def work(until):
    while time.monotonic() < until:
        sum(range(300))
def main(seconds):
    signal.signal(signal.SIGUSR2, lambda *_: over.append(1))
    print(os.getpid(), flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not over:
        work(time.monotonic() + 0.004)
        time.sleep(0.004)
    print("done", flush=True)
main(float(sys.argv[1]))
sys.exit(7)
"""


def busy(seconds=600):
    """Longer than any test, which kills it or lets it end."""
    return [PYTHON, "-c", BUSY, str(seconds)]


def prefix(*words):
    """What stands in front of a command: `gpuprof run WORDS --`."""
    return [e2e.GPUPROF, "run", *words, "--"]


class Program:
    """A command in the background that prints its process id first; gone at the block's end."""

    def __init__(self, command, **keywords):
        keywords.setdefault("stderr", subprocess.PIPE)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **keywords)
        self.pid = int(self.process.stdout.readline() or 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in (self.pid, self.process.pid):
            if self.process.poll() is None or pid != self.process.pid:
                signal_if_there(pid, signal.SIGCONT)
                signal_if_there(pid, signal.SIGKILL)
        self.process.communicate(timeout=PATIENCE_S)

    def end(self, number=signal.SIGTERM):
        """Ends the program by a signal; returns (status, stdout, stderr) of what was started."""
        signal_if_there(self.pid, number)
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out.decode(), (errors or b"").decode()

    def let_end(self):
        """The same of busy() at its own end."""
        return self.end(signal.SIGUSR2)


def signal_if_there(pid, number):
    if pid == 0:
        return  # it never told its number; 0 would be this process's own group
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def sampled_often(words):
    """The words, with a rate at which also a window of some ms on a busy machine, in which the program hardly ran, has
    samples: without any it has no file."""
    words = list(map(str, words))
    if words[0] in ("attach", "capture") and "-d" in words and "-r" not in words:
        words[1:1] = ["-r", "1000"]
    return words


LATER = "try again later"


def cli(*words, **keywords):
    """`gpuprof WORDS` to its end; again where it says that it may be tried again, as on a busy machine."""
    keywords.setdefault("timeout", PATIENCE_S)
    for _ in range(TRIES):
        done = subprocess.run([e2e.GPUPROF, *sampled_often(words)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, **keywords)
        if done.returncode == 0 or LATER not in done.stderr:
            break
    return done


TRIES = 20


class Background:
    """`gpuprof WORDS` while the test goes on."""

    def __init__(self, *words, **keywords):
        self.process = subprocess.Popen([e2e.GPUPROF, *sampled_often(words)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)
        self.pid = self.process.pid

    def end(self, timeout=PATIENCE_S):
        out, errors = self.process.communicate(timeout=timeout)
        return subprocess.CompletedProcess([], self.process.returncode, out, errors)


def status():
    """{pid: row} of `gpuprof status --json`."""
    return {row["pid"]: row for row in json.loads(cli("status", "--json").stdout or "[]")}


DOORS = "/tmp/gpuprof-%d" % os.getuid()
# A folder that somebody removes takes along what is mounted on it, in every mount namespace; and who is the last to
# have a control socket in it removes it. This file, which the mount then hides, keeps it from being empty.
HELD = "%s/test-%d" % (DOORS, os.getpid())
# Seen by nobody else, as the /tmp of a container.
OWN_DOORS = "mkdir -p -m 700 %s && : > %s && mount -t tmpfs -o mode=0700 tmpfs %s" % (DOORS, HELD, DOORS)


def let_doors_go():
    for remove, path in ((os.unlink, HELD), (os.rmdir, DOORS)):
        try:
            remove(path)
        except OSError:
            pass


atexit.register(let_doors_go)


def alone():
    """What stands in front of a command that is to see no process and no control socket but its own; None: not here."""
    words = ["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", OWN_DOORS + ' && exec "$@"', "sh"]
    try:
        done = subprocess.run(words + ["true"], capture_output=True)
    except OSError:
        return None
    return words if done.returncode == 0 else None


def wait_for(what, seconds=PATIENCE_S):
    """The first true value of `what()`; None if none comes in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    # Where the caller does not judge it, it would only be slow.
    caller = inspect.stack()[1]
    print("waited %g s in vain: %s:%d" % (seconds, os.path.basename(caller.filename), caller.lineno), flush=True)
    return None


def wait_until_armed(pid, seconds=PATIENCE_S):
    """It waits at its control socket, and nobody records it."""
    def armed():
        row = status().get(pid)
        return row if row and row["state"] == "armed" else None
    return wait_for(armed, seconds)


def wait_until_recorded(pid, seconds=PATIENCE_S):
    def recorded():
        row = status().get(pid)
        return row if row and row["state"] == "recording" else None
    return wait_for(recorded, seconds)


def recording_for(seconds, command, program, out, *words):
    """`gpuprof COMMAND` for so long, seen in the first half of it; longer where a busy machine needs as long to look."""
    for length in (seconds, 6 * seconds, 36 * seconds):
        running = Background(command, program.pid, "-d", "%gs" % length, "-o", "%s-%g" % (out, length), *words)
        if wait_until_recorded(program.pid, length / 2):
            return running
        running.end()
    raise AssertionError("no recording of %g s was seen" % length)


def threads(pid):
    """Names of its threads, sorted."""
    names = []
    for path in glob.glob("/proc/%d/task/*/comm" % pid):
        try:
            with open(path, encoding="utf-8") as file:
                names.append(file.read().strip())
        except OSError:
            pass  # ended meanwhile
    return sorted(names)


def command_line(pid):
    """Its words, each ended by a NUL; "" if it is gone."""
    try:
        with open("/proc/%d/cmdline" % pid, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def worked_s(pid):
    """Seconds that it has computed for; 0 if it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_worked(pid, share_s=0.3):
    """It has computed for so much longer: whoever records it has samples, however busy the machine is."""
    end = worked_s(pid) + share_s
    return wait_for(lambda: worked_s(pid) >= end)


def let_work(pid, seconds, share=0.05):
    """So long, and longer where it had less than this share of a processor and goes on."""
    end = worked_s(pid) + share * seconds
    time.sleep(seconds)
    wait_for(lambda: worked_s(pid) >= end or not os.path.exists("/proc/%d" % pid))


def states(pid):
    """Letters of its threads' states, as in ps."""
    found = set()
    for path in glob.glob("/proc/%d/task/*/stat" % pid):
        try:
            with open(path, encoding="utf-8") as file:
                found.add(file.read().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # ended meanwhile
    return found


def descriptors(pid):
    """What its descriptors lead to."""
    found = []
    for path in glob.glob("/proc/%d/fd/*" % pid):
        try:
            found.append(os.readlink(path))
        except OSError:
            pass
    return sorted(found)


def maps(pid):
    """What is mapped there, as text."""
    with open("/proc/%d/maps" % pid, encoding="utf-8") as file:
        return file.read()


def control_socket_files(pid, root=""):
    """Files of its control sockets, by its own idea of its process id."""
    uid = os.getuid()
    folders = ["/run/user/%d/gpuprof", "/tmp/gpuprof-%d", "/dev/shm/gpuprof-%d"]
    return [path for folder in folders for path in glob.glob(root + folder % uid + "/%d-*.door" % pid)]


def tracer(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as file:
        return int(re.search(r"TracerPid:\s*(\d+)", file.read())[1])


# The kernel counts a thread for a while that has said good-bye.
LETS_GO_S = 60


def no_trace_of_us(checks, pid, before, what):
    """Threads and descriptors are those of `before`; no control socket; nobody traces it."""
    wait_for(lambda: (threads(pid), descriptors(pid)) == before, LETS_GO_S)
    checks.equal((threads(pid), descriptors(pid)), before, what + ": threads and descriptors")
    checks.equal(control_socket_files(pid), [], what + ": its control socket")
    checks.equal(tracer(pid), 0, what + ": its tracer")


def head(path):
    """What a trace says of itself."""
    return e2e.load(path)["gpuprof"]


def first_event_ns(path):
    """When the first thing that a trace tells of happened, CLOCK_MONOTONIC; None: it tells of nothing."""
    trace = e2e.load(path)
    zero = trace["gpuprof"]["window"]["start_ns"] - MARGIN_NS
    # The range `capture` stands for the window.
    times = [event["ts"] for event in trace["traceEvents"]
             if event.get("ph") in ("B", "X", "i") and event.get("name") != "capture"]
    return zero + round(min(times) * 1000) if times else None


def sample_times_ns(path):
    """When sampled frames begin, CLOCK_MONOTONIC."""
    trace = e2e.load(path)
    zero = trace["gpuprof"]["window"]["start_ns"] - MARGIN_NS
    return [zero + round(event["ts"] * 1000) for event in trace["traceEvents"]
            if event.get("ph") == "B" and event.get("cat") == "cpu_sample"]


def span_seconds(path):
    return head(path)["window"]["duration_ns"] / 1e9


def samples(path):
    """How many stacks were sampled."""
    return head(path)["events"].get("samples", 0)
