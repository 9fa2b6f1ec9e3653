# SPDX-License-Identifier: Apache-2.0
"""Running programs, and what is visible of gpuprof in them from outside."""

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
    """Runs longer than any test, which kills it or lets it end."""
    return [PYTHON, "-c", BUSY, str(seconds)]


def prefix(*words):
    """The beginning of a command line: `gpuprof run WORDS --`."""
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
                signal_if_alive(pid, signal.SIGCONT)
                signal_if_alive(pid, signal.SIGKILL)
        self.process.communicate(timeout=PATIENCE_S)

    def end(self, number=signal.SIGTERM):
        """Ends the program by a signal; returns (status, stdout, stderr) of what was started."""
        signal_if_alive(self.pid, number)
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out.decode(), (errors or b"").decode()

    def let_end(self):
        """Lets busy() end by itself; returns what end() does."""
        return self.end(signal.SIGUSR2)


def signal_if_alive(pid, number):
    if pid == 0:
        return  # it never printed its number; 0 would be this process's own group
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def with_high_rate(words):
    """The words, with a sampling rate that gives samples even in a window of a few ms on a busy machine, in which the
    program hardly ran: a window without samples has no file."""
    words = list(map(str, words))
    if words[0] in ("attach", "capture") and "-d" in words and "-r" not in words:
        words[1:1] = ["-r", "1000"]
    return words


TRY_AGAIN_LATER = "try again later"


def cli(*words, **keywords):
    """`gpuprof WORDS` to its end; again where it says that it may be tried again, as on a busy machine."""
    keywords.setdefault("timeout", PATIENCE_S)
    for _ in range(TRIES):
        result = subprocess.run([e2e.GPUPROF, *with_high_rate(words)], stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, **keywords)
        if result.returncode == 0 or TRY_AGAIN_LATER not in result.stderr:
            break
    return result


TRIES = 20


class Background:
    """`gpuprof WORDS` in the background."""

    def __init__(self, *words, **keywords):
        self.process = subprocess.Popen([e2e.GPUPROF, *with_high_rate(words)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)
        self.pid = self.process.pid

    def end(self, timeout=PATIENCE_S):
        out, errors = self.process.communicate(timeout=timeout)
        return subprocess.CompletedProcess([], self.process.returncode, out, errors)


def status():
    """{pid: row} of `gpuprof status --json`."""
    return {row["pid"]: row for row in json.loads(cli("status", "--json").stdout or "[]")}


CONTROL_FOLDER = "/tmp/gpuprof-%d" % os.getuid()
# Removing a folder also unmounts what is mounted on it, in every mount namespace; and whoever is the last to
# have a control socket in it removes it. This file, which the mount then hides, keeps it from being empty.
PLACEHOLDER = "%s/test-%d" % (CONTROL_FOLDER, os.getpid())
# Invisible to everybody else, as the /tmp of a container.
MOUNT_OWN_CONTROL_FOLDER = "mkdir -p -m 700 %s && : > %s && mount -t tmpfs -o mode=0700 tmpfs %s" % (CONTROL_FOLDER, PLACEHOLDER, CONTROL_FOLDER)


def remove_own_control_folder():
    for remove, path in ((os.unlink, PLACEHOLDER), (os.rmdir, CONTROL_FOLDER)):
        try:
            remove(path)
        except OSError:
            pass


atexit.register(remove_own_control_folder)


def isolated_prefix():
    """A command prefix that hides all other processes and control sockets; None if this machine does not permit it."""
    words = ["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", MOUNT_OWN_CONTROL_FOLDER + ' && exec "$@"', "sh"]
    try:
        result = subprocess.run(words + ["true"], capture_output=True)
    except OSError:
        return None
    return words if result.returncode == 0 else None


def wait_for(what, seconds=PATIENCE_S):
    """The first true value of `what()`; None if none comes in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    # A caller that does not check the result would only be slow.
    caller = inspect.stack()[1]
    print("waited %g s in vain: %s:%d" % (seconds, os.path.basename(caller.filename), caller.lineno), flush=True)
    return None


def wait_until_armed(pid, seconds=PATIENCE_S):
    """Until it listens at its control socket and is not being recorded."""
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
    """`gpuprof COMMAND` for so long, of which the test saw the first half; longer if a busy machine was too slow for that."""
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
    """Its arguments, each ended by a NUL; "" if it is gone."""
    try:
        with open("/proc/%d/cmdline" % pid, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def cpu_seconds(pid):
    """CPU time that it has used, in seconds; 0 if it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_cpu_time(pid, cpu_s=0.3):
    """Until it has used so much more CPU time: a recording of it has samples, however busy the machine is."""
    end = cpu_seconds(pid) + cpu_s
    return wait_for(lambda: cpu_seconds(pid) >= end)


def let_run(pid, seconds, share=0.05):
    """Waits so long, and longer while it had less than this share of a processor and still runs."""
    end = cpu_seconds(pid) + share * seconds
    time.sleep(seconds)
    wait_for(lambda: cpu_seconds(pid) >= end or not os.path.exists("/proc/%d" % pid))


def thread_states(pid):
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
    """The targets of its file descriptors."""
    found = []
    for path in glob.glob("/proc/%d/fd/*" % pid):
        try:
            found.append(os.readlink(path))
        except OSError:
            pass
    return sorted(found)


def maps(pid):
    """Its memory mappings, as text."""
    with open("/proc/%d/maps" % pid, encoding="utf-8") as file:
        return file.read()


def control_socket_files(pid, root=""):
    """Files of its control sockets; `pid` as in its own pid namespace."""
    uid = os.getuid()
    folders = ["/run/user/%d/gpuprof", "/tmp/gpuprof-%d", "/dev/shm/gpuprof-%d"]
    return [path for folder in folders for path in glob.glob(root + folder % uid + "/%d-*.door" % pid)]


def tracer(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as file:
        return int(re.search(r"TracerPid:\s*(\d+)", file.read())[1])


# The kernel counts a thread for a while that has ended.
DETACH_TIMEOUT_S = 60


def check_detached(checks, pid, before, what):
    """Checks that threads and descriptors are those of `before`, and that it has no control socket and no tracer."""
    wait_for(lambda: (threads(pid), descriptors(pid)) == before, DETACH_TIMEOUT_S)
    checks.equal((threads(pid), descriptors(pid)), before, what + ": threads and descriptors")
    checks.equal(control_socket_files(pid), [], what + ": its control socket")
    checks.equal(tracer(pid), 0, what + ": its tracer")


def head(path):
    """Metadata of a trace."""
    return e2e.load(path)["gpuprof"]


def first_event_ns(path):
    """Time of the first event of a trace, CLOCK_MONOTONIC; None if it has no events."""
    trace = e2e.load(path)
    zero = trace["gpuprof"]["window"]["start_ns"] - MARGIN_NS
    # The range `capture` stands for the window.
    times = [event["ts"] for event in trace["traceEvents"]
             if event.get("ph") in ("B", "X", "i") and event.get("name") != "capture"]
    return zero + round(min(times) * 1000) if times else None


def sample_times_ns(path):
    """Times at which sampled frames begin, CLOCK_MONOTONIC."""
    trace = e2e.load(path)
    zero = trace["gpuprof"]["window"]["start_ns"] - MARGIN_NS
    return [zero + round(event["ts"] * 1000) for event in trace["traceEvents"]
            if event.get("ph") == "B" and event.get("cat") == "cpu_sample"]


def duration_seconds(path):
    return head(path)["window"]["duration_ns"] / 1e9


def sample_count(path):
    """Number of sampled stacks."""
    return head(path)["events"].get("samples", 0)
