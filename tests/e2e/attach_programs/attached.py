# SPDX-License-Identifier: Apache-2.0
"""Programs that run already: how to start one, bring gpuprof in, and see what it left behind."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("lib", "simgpu/oracle", "torch", "viewers"):
    sys.path.append(os.path.join(HERE, "..", *folder.split("/")))
import e2e  # noqa: E402
import sim  # noqa: E402

PROGRAMS = os.path.join(HERE, "programs")
PATIENCE_S = 600  # a busy machine may take this long to start a program


def require_attach():
    """Skips the test where a running process cannot be attached to at all."""
    for path in (e2e.GPUPROF, e2e.GPUPROFD, e2e.LIBRARY):
        if not os.path.exists(path):
            e2e.skip("not built: " + path)
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="utf-8") as file:
            scope = int(file.read())
    except (OSError, ValueError):
        scope = 0
    if scope >= 3 or (scope > 0 and os.geteuid() != 0):
        e2e.skip("kernel.yama.ptrace_scope is %d: no process may be attached to by this user" % scope)


def environment(**more):
    """One thread a process: the machine is shared."""
    return dict(os.environ, OMP_NUM_THREADS="1", GPUSIM_QUIET="1", **more)


def on_gpu(command, *options):
    """The command on the simulated GPU; the process keeps its id."""
    return [sim.GPUSIM_RUN, *options, "--", *command]


def wait_until(what, seconds=PATIENCE_S):
    """True as soon as what() is; False after so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.02)
    return False


class Program:
    """A program that runs while it is recorded; its output goes to files."""

    def __init__(self, command, folder, name="program", ready="ready", env=None, talk=False):
        self.out_path = os.path.join(folder, name + ".out")
        self.err_path = os.path.join(folder, name + ".err")
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, env=env or environment(),
                                            stdin=subprocess.PIPE if talk else subprocess.DEVNULL)
        self.pid = self.process.pid
        if ready and not wait_until(lambda: self.ended() or ready in self.text()):
            raise RuntimeError("%s is not ready after %d s" % (command, PATIENCE_S))
        if ready and self.ended() and ready not in self.text():
            raise RuntimeError("%s ended at its start:\n%s" % (command, self.errors()))

    def ended(self):
        return self.process.poll() is not None

    def text(self):
        with open(self.out_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def errors(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait(self, seconds=PATIENCE_S):
        return self.process.wait(timeout=seconds)

    def end(self, with_signal=signal.SIGTERM):
        """The exit status once it has obeyed."""
        if not self.ended():
            self.process.send_signal(with_signal)
        return self.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.ended():
            self.process.kill()
            self.process.wait()


@dataclasses.dataclass
class Recording:
    """What a gpuprof command did."""
    status: int
    began_ns: int   # CLOCK_MONOTONIC, as all of these
    ended_ns: int
    stdout: str
    stderr: str
    summary: dict
    paths: list     # trace files, in order of the windows

    def messages(self):
        """Every message of its summary."""
        return " ".join(self.summary.get("missing", []) + self.summary.get("remarks", []) +
                        self.summary.get("failures", []) + list(self.summary.get("drops_by_reason", {})))

    def first_operator_s(self):
        """From the command's start to the first operator in its trace, in seconds."""
        import torch_trace
        return (min(op.start for op in torch_trace.read_gpuprof(self.paths).operators) - self.began_ns) / 1e9


class Command:
    """A gpuprof command of running processes, in the background."""

    def __init__(self, words, out=None):
        self.out = out
        self.summary_path = out and os.path.join(out, "summary.json")
        if out:
            os.makedirs(out, exist_ok=True)
            words = [*words, "-f", "-o", out, "--summary-json", self.summary_path]
        self.began_ns = time.monotonic_ns()
        self.process = subprocess.Popen([e2e.GPUPROF, *words], stdin=subprocess.DEVNULL, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ended(self):
        return self.process.poll() is not None

    def finish(self, seconds=PATIENCE_S):
        stdout, stderr = self.process.communicate(timeout=seconds)
        ended_ns = time.monotonic_ns()
        summary = {}
        if self.summary_path and os.path.exists(self.summary_path):
            with open(self.summary_path, encoding="utf-8") as file:
                summary = json.load(file)
        paths = [line for line in stdout.splitlines() if ".pt.trace.json" in line]
        return Recording(self.process.returncode, self.began_ns, ended_ns, stdout, stderr, summary,
                         paths)


def record(words, out):
    """`gpuprof WORDS -o OUT` to its end; again where it says that it may be tried again, as on a busy machine."""
    for _ in range(20):
        recording = Command(words, out).finish()
        if recording.status == 0 or "try again later" not in recording.stderr:
            break
    return recording


# How much longer a window is tried in which a busy machine let nobody run.
LENGTH_FACTORS = (1, 6, 36)
NOTHING = "no trace file was written"


def record_until(enough, seconds, words, out):
    """record() with a window of so many seconds; a longer one where it has no file or not enough(recording)."""
    for times in LENGTH_FACTORS:
        shutil.rmtree(out, ignore_errors=True)
        recording = record([*words, "-d", "%gs" % (times * seconds)], out)
        if recording.status != 0 and NOTHING not in recording.stderr:
            break
        if recording.paths and enough(recording):
            break
    return recording


def recording_for(seconds, words, pid, out):
    """A Command with a window of so many seconds, seen in its first half; longer where nobody can look so soon."""
    for times in LENGTH_FACTORS:
        length = times * seconds
        command = Command([*words, str(pid), "-d", "%gs" % length], out)
        wait_until(lambda: is_recorded(pid) or command.ended(), length / 2)
        if is_recorded(pid) and not command.ended():
            return command
        command.finish()
    raise RuntimeError("no recording of %g s was seen" % length)


def is_recorded(pid):
    return status_rows().get(pid, {}).get("state") == "recording"


def cli(*words):
    """`gpuprof WORDS`: status and output."""
    return Command(words).finish()


def status_rows():
    """{pid: row} of `gpuprof status --json`."""
    return {row["pid"]: row for row in json.loads(cli("status", "--json").stdout or "[]")}


@dataclasses.dataclass
class Footprint:
    """What a process holds."""
    descriptors: dict   # {number: what}
    threads: list       # their names, in order; without those of the simulated CUPTI, which it keeps
    mappings: int
    library_mappings: int           # mappings of the library
    rss_kib: int        # without pages of files, which cost nothing
    file_kib: int
    caught: int         # SigCgt

    def row(self):
        return ("%d descriptors, %d threads, %d mappings (%d of the library), %d KiB resident and %d of files, "
                "SigCgt %x" % (len(self.descriptors), len(self.threads), self.mappings, self.library_mappings, self.rss_kib,
                               self.file_kib, self.caught))


def footprint(pid):
    folder = "/proc/%d" % pid
    with open(folder + "/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    with open(folder + "/maps", encoding="utf-8") as file:
        maps = file.read().splitlines()
    names = []
    for task in os.listdir(folder + "/task"):
        try:
            with open("%s/task/%s/comm" % (folder, task), encoding="utf-8") as file:
                names.append(file.read().strip())
        except OSError:
            pass  # ended meanwhile
    descriptors = {}
    for number in os.listdir(folder + "/fd"):
        try:
            # The number of a socket or pipe is not what it is for.
            descriptors[int(number)] = re.sub(r"\[\d+\]", "", os.readlink("%s/fd/%s" % (folder, number)))
        except OSError:
            pass  # closed meanwhile
    return Footprint(descriptors, sorted(n for n in names if not n.startswith("gpusim")), len(maps),
                     sum("gpuprof" in line.rsplit("/", 1)[-1] for line in maps),
                     int(status["RssAnon"].split()[0]), int(status["RssFile"].split()[0]),
                     int(status["SigCgt"], 16))


def quiet_footprint(pid, like=None, seconds=60.0):
    """The footprint once it has as few threads and descriptors as `like`, or what it is after so long."""
    wait_until(lambda: like is None or (len(footprint(pid).threads) <= len(like.threads) and
                                        len(footprint(pid).descriptors) <= len(like.descriptors)), seconds)
    return footprint(pid)
