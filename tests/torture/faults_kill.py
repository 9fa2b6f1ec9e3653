# SPDX-License-Identifier: Apache-2.0
"""Family kill: SIGKILL and SIGSTOP of program, daemon, command and attacher, at random and at every step."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import e2e
import kill_test
import sim
import staged
from attempt import E2E, Skip, load_json, require_files
from fault import add, fault
from kill_test import read, recorded_kernels, trainer_of, wait_for

# What these messages of the tests tell of is a file, not the program.
FILES = r"kernels in the file|kernels recovered|kernels in the files|a spool is left|: export:"
MOST_RANDOM_S = 1.8


def random_instants(body):
    def attempt_of(attempt):
        marker = "torture-%d-%d" % (os.getpid(), attempt.seed)
        body(attempt, attempt.folder, marker, attempt.random.uniform(0.05, MOST_RANDOM_S))
    return attempt_of


for process_name in ("target", "daemon", "cli"):
    add("kill", process_name + " at random", random_instants(getattr(kill_test, "kill_" + process_name)), lost=FILES, quick=process_name == "target")


# -- run: every step that can be seen from outside ---------------------------------------------------------------------
class Session:
    """A `gpuprof run` of the trainer, and what of it can be seen."""

    def __init__(self, attempt, arguments):
        self.attempt, self.marker = attempt, "torture-%d-%d" % (os.getpid(), attempt.seed)
        self.out = attempt.path("out")
        self.process = kill_test.start(attempt.folder, self.marker, arguments)
        self.target = self.daemon = None

    def target_runs(self):
        self.target = self.target or next((p for p, c in kill_test.children(self.process.pid).items() if c.split(b"\0")[
            0].endswith(b"sim_trainer")), None)
        return self.target

    def daemon_runs(self):
        self.daemon = self.daemon or next((p for p, c in kill_test.children(self.process.pid).items() if c.split(b"\0")[
            0].endswith(b"gpuprofd")), None)
        return self.daemon

    def mapped(self, what):
        if not self.target_runs():
            return False
        try:
            with open("/proc/%d/maps" % self.target, encoding="utf-8") as file:
                return what in file.read()
        except OSError:
            return False

    def spooled(self):
        total = 0
        for folder, _, names in os.walk(self.out):
            for name in names:
                if name.endswith(".spool"):
                    try:
                        total += os.path.getsize(os.path.join(folder, name))
                    except OSError:
                        pass
        return total

    def spool_there(self):
        return os.path.isdir(self.out) and any(n.startswith(".gpuprof-spool") for n in os.listdir(self.out))

    def target_ended(self):
        if not self.target_runs():
            return False
        try:
            with open("/proc/%d/stat" % self.target, encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    def being_written(self):
        if not os.path.isdir(self.out):
            return False
        return any(n.endswith(".part") for n in os.listdir(self.out))

    def file_there(self):
        return e2e.traces(self.out)


STEPS = {
    "command started": lambda s: True,
    "daemon started": Session.daemon_runs,
    "spool made": Session.spool_there,
    "program started": Session.target_runs,
    "library mapped": lambda s: s.mapped("libgpuprof_inject"),
    "segment mapped": lambda s: s.mapped("memfd:gpuprof"),
    "first records": lambda s: s.spooled() > 4096,
    "many records": lambda s: s.spooled() > 32768,
    "program ended": Session.target_ended,
    "file being written": Session.being_written,
    "file there": Session.file_there,
}
TRIES = 5  # some steps are over within a millisecond
BEFORE_PROGRAM = ("command started", "daemon started", "spool made")
WORK = ["--steps", "150", "--progress", "--kernels", "20", "--host-ms", "1", "--step-ms", "4"]
LAST_LINE = b"result helpers"


def poll(session, reached, seconds=20.0):
    """Whether the step came while the command ran; looks without a pause, the steps are short."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if reached(session):
            return True
        if session.process.poll() is not None:
            return False
    return False


def staged_kill(session, victim, step):
    """When it was killed, by CLOCK_MONOTONIC; None: the step or the victim was over before it was seen."""
    find = {"daemon": session.daemon_runs, "target": session.target_runs}.get(victim)
    reached = (not find or poll(session, lambda _: find())) and poll(session, STEPS[step])
    pid = {"command": session.process.pid, "daemon": session.daemon, "target": session.target}[victim]
    print("%s at %r: reached %s, pid %s" % (victim, step, reached, pid), flush=True)
    if not reached:
        return None
    if victim == "command":  # its children are nobody's afterwards
        session.target_runs(), session.daemon_runs()
    died_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    session.target_runs(), session.daemon_runs()
    return died_ns


def at_step(victim, step):
    def body(attempt):
        for _ in range(TRIES):
            session = Session(attempt, WORK)
            died_ns = staged_kill(session, victim, step)
            try:
                status = session.process.wait(timeout=60 * staged.patience())
            except subprocess.TimeoutExpired:
                return attempt.harm("gpuprof run is not back after 60 s")
            if died_ns is not None:
                attempt.checked += 1
                return JUDGES[victim](attempt, session, step, status, died_ns)
            if status != 0:
                return attempt.harm("status %d without a kill" % status)
            shutil.rmtree(session.out)
        raise Skip("over before it could be seen, %d times" % TRIES)
    return body


def check_output_complete(attempt, what):
    attempt.expect(b"result steps 150" in read(attempt.folder, "stdout"), what + ": the program ran to its end")


def check_killed_target(attempt, session, step, status, died_ns):
    attempt.expect(status in (-signal.SIGKILL, 128 + signal.SIGKILL) or step == "program ended", "status %d" % status)
    stdout = read(attempt.folder, "stdout")
    least = kill_test.promised(stdout, died_ns)
    traces = attempt.read_traces(session.out, 1 if least else 0)
    kernels = recorded_kernels(session.out) if traces else 0
    attempt.in_time(kernels >= least, "%d kernels in the file, %d were published 50 ms before" % (kernels, least))
    messages = " ".join(text for trace in traces for text in trace["gpuprof"]["missing"] + trace["gpuprof"]["notices"])
    if traces and step != "program ended" and "SIGKILL" not in messages:
        attempt.lose("no trace says how the program ended: " + messages[:300])


def check_killed_daemon(attempt, session, step, status, died_ns):
    stdout = read(attempt.folder, "stdout")
    if step in BEFORE_PROGRAM and not stdout:
        # Nothing had begun: our failure before the program, or the program without gpuprof.
        return attempt.expect(status in (0, 125), "status %d" % status)
    attempt.equal(status, 0, "the program's status")
    check_output_complete(attempt, "daemon")
    recovered(attempt, session, kill_test.promised(stdout, died_ns - 5 * kill_test.GRACE_NS))


def recovered(attempt, session, least):
    """Files, or a spool that gives files."""
    if not e2e.traces(session.out):
        spools = [n for n in os.listdir(session.out) if n.startswith(".gpuprof-spool")] if os.path.isdir(session.out) else []
        if not spools:
            return attempt.lose("no file, no spool, %d kernels were due" % least) if least else None
        subprocess.run([e2e.GPUPROF, "export", os.path.join(session.out, spools[0]), "-o", session.out], capture_output=True,
                       timeout=60)
    attempt.read_traces(session.out, 1 if least else 0)
    kernels = recorded_kernels(session.out)
    attempt.in_time(kernels >= least, "%d kernels recovered, %d were drained" % (kernels, least))


def check_killed_command(attempt, session, step, status, died_ns):
    # It may have ended between the look and the kill.
    late = step in ("program ended", "file being written", "file there")
    attempt.expect(status == -signal.SIGKILL or late and status == 0, "the command's status %s" % status)
    target = session.target
    if target:
        attempt.expect(wait_for(lambda: not os.path.exists("/proc/%d" % target), 60), "the program ends by itself")
    if session.daemon:
        attempt.expect(wait_for(lambda: not os.path.exists("/proc/%d" % session.daemon), 60), "the daemon ends")
    if step in BEFORE_PROGRAM and not read(attempt.folder, "stdout"):
        return
    # Of a program that started between the last look and the kill no id is known.
    wait_for(lambda: LAST_LINE in read(attempt.folder, "stdout"), 60)
    check_output_complete(attempt, "command")
    stdout = read(attempt.folder, "stdout")
    launched = re.search(rb"result kernels (\d+)", stdout)
    if step not in BEFORE_PROGRAM and step != "program started":
        attempt.read_traces(session.out, 1)
        kernels = recorded_kernels(session.out)
        if launched and kernels != int(launched[1]):
            attempt.lose("%d kernels in the files, the program launched %s" % (kernels, launched[1].decode()))


JUDGES = {"target": check_killed_target, "daemon": check_killed_daemon, "command": check_killed_command}
for _step in STEPS:
    for _victim in JUDGES:
        if _victim == "target" and (_step in BEFORE_PROGRAM or _step in ("file being written", "file there")):
            continue
        if _victim == "daemon" and _step == "command started":
            continue
        add("kill", "%s at: %s" % (_victim, _step), at_step(_victim, _step), limit_s=150)


# -- SIGSTOP, and a daemon that is slower than the program -------------------------------------------------------------
def largest_gap_ms(stdout):
    times = [int(line[0]) for line in kill_test.PROGRESS.findall(stdout)]
    return max((b - a for a, b in zip(times, times[1:])), default=0) / 1e6


def held_up(attempt, arguments, hold):
    """The program while hold(daemon) is done to the daemon: same output, nothing uncounted."""
    session = Session(attempt, arguments)
    if not poll(session, lambda s: s.spooled() > 4096):
        session.process.wait(timeout=60 * staged.patience())
        return attempt.harm("nothing was ever recorded")
    hold(session)
    status = session.process.wait(timeout=60 * staged.patience())
    stdout = read(attempt.folder, "stdout")
    attempt.equal(status, 0, "the program's status")
    attempt.expect(b"result steps " in stdout, "the program's output")
    gap = largest_gap_ms(stdout)
    print("largest gap between two lines of the program: %.0f ms" % gap)
    attempt.expect(gap < 2000 * staged.patience(), "the program stood still for %.0f ms" % gap)
    attempt.read_traces(session.out, 1)


@fault("kill", "daemon stopped for 10 s", limit_s=120)
def stopped(attempt):
    def hold(session):
        time.sleep(attempt.random.uniform(0, 1))
        os.kill(session.daemon_runs(), signal.SIGSTOP)
        time.sleep(10)
        os.kill(session.daemon, signal.SIGCONT)
    held_up(attempt, ["--steps", "2800", "--progress", "--kernels", "20", "--host-ms", "1", "--step-ms", "5"], hold)


@fault("kill", "daemon slower than the program", limit_s=120)
def slow_daemon(attempt):
    def hold(session):
        daemon, end = session.daemon_runs(), time.monotonic() + 4
        while time.monotonic() < end and session.process.poll() is None:
            os.kill(daemon, signal.SIGSTOP)
            time.sleep(attempt.random.uniform(0.05, 0.4))
            os.kill(daemon, signal.SIGCONT)
            time.sleep(0.01)
    held_up(attempt, ["--steps", "1200", "--progress", "--kernels", "200", "--host-ms", "0", "--step-ms", "4"], hold)


# -- the attacher ------------------------------------------------------------------------------------------------------
def run_e2e_test(suite, script, *words, lost=""):
    """A test of the end-to-end suites as a fault: its failed lines are the harm."""
    def body(attempt):
        path = os.path.join(E2E, suite, script)
        folders = [os.path.join(E2E, r) for r in ("lib", suite, "kill")]
        done = subprocess.run([sys.executable, path, *[w.format(seed=attempt.seed) for w in words]], capture_output=True, text=True,
                              cwd=os.path.join(E2E, suite), env=dict(os.environ, PYTHONPATH=":".join(folders)))
        print(done.stdout + done.stderr, flush=True)
        attempt.checked += 1
        if done.returncode == 77:
            raise Skip(re.sub("^SKIPPED: ", "", (done.stdout.splitlines() or ["?"])[-1]))
        failed = [line[8:] for line in done.stdout.splitlines() if line.startswith("FAILED: ")]
        for line in failed:
            (attempt.lose if lost and re.search(lost, line) else attempt.harm)(line)
        if done.returncode != 0 and not failed:
            attempt.harm("%s: status %d: %s" % (script, done.returncode, (done.stdout + done.stderr)[-500:]))
    return body


def attach_steps():
    try:
        with open(os.path.join(e2e.SOURCE, "daemon/attach/ptrace/phases.cpp"), encoding="utf-8") as file:
            return re.findall(r'\{Phase::\w+, "([a-z-]+)"\}', file.read())
    except OSError:
        return []


def attacher_at(step):
    inner = run_e2e_test("attach", "kill_test.py", "--random", "0", "--only", step)

    def body(attempt):
        require_files(os.path.join(e2e.BUILD, "attach", "attach_tool"))
        inner(attempt)
    return body


for _step in attach_steps():
    add("kill", "attacher at: " + _step, attacher_at(_step))


@fault("kill", "attacher at random", limit_s=120)
def attacher_at_random(attempt):
    """The command itself, while its program goes on."""
    import live
    words = live.busy(4)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    pid = int(process.stdout.readline())
    time.sleep(0.3)
    command = subprocess.Popen([e2e.GPUPROF, "attach", str(pid), "-d", "1s", "-o", attempt.path("out")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    time.sleep(attempt.random.choice([attempt.random.uniform(0, 0.15), attempt.random.uniform(0, 1.5)]))
    command.kill()
    command.communicate()
    try:
        out, err = process.communicate(timeout=30 * staged.patience())
    except subprocess.TimeoutExpired:
        process.kill()
        return attempt.harm("the program hangs")
    attempt.equal((process.returncode, out, err), (7, b"done\n", b""), "the program's end")
    attempt.read_traces(attempt.path("out"), 0)


@fault("kill", "files survive a kill in mid-window", limit_s=60)
def mid_window(attempt):
    """Windows of 300 ms; the program dies in the middle of one, and the file of that one is there."""
    env = dict(os.environ, GPUSIM_QUIET="1")
    summary = attempt.path("summary.json")
    with open(attempt.path("stdout"), "wb") as out:
        process = subprocess.Popen(
            [e2e.GPUPROF, "run", "-q", "-o", attempt.path("out"), "--summary-json", summary, "--wait", "200ms", "--active", "300ms",
             "--repeat", "0", "--", *sim.simulated(kill_test.BUSY)], env=env, stdout=out, stdin=subprocess.DEVNULL)
    target = trainer_of(process)
    begun = wait_for(lambda: e2e.traces(attempt.path("out")), 20)  # the first window is written: the second is next
    time.sleep(attempt.random.uniform(0.25, 0.6))
    os.kill(target, signal.SIGKILL)
    process.wait(timeout=60 * staged.patience())
    attempt.expect(begun, "the first window's file")
    traces = attempt.read_traces(attempt.path("out"), 1)
    windows = load_json(summary).get("windows", [])
    attempt.expect(len(windows) == len(traces), "%d windows, %d files" % (len(windows), len(traces)))
    killed = [t for t in traces if "SIGKILL" in " ".join(t["gpuprof"]["missing"] + t["gpuprof"]["notices"])]
    print("%d windows, %d say SIGKILL" % (len(windows), len(killed)))

