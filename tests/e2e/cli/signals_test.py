# SPDX-License-Identifier: Apache-2.0
"""Signals to the group, to gpuprof alone, stopping and going on, descendants."""

import os
import signal
import subprocess
import sys
import time

import e2e

PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable

# Counts what arrives and prints it a while after the first, or at the end.
COUNT = """
import os, signal, sys, time
seen = {}
def note(number, frame): seen[number] = seen.get(number, 0) + 1
for number in (1, 2, 3, 10, 12, 15, 18): signal.signal(number, note)
print("ready", os.getpid(), flush=True)
end = time.time() + float(sys.argv[1])
while time.time() < end and not seen: time.sleep(0.02)
if seen: time.sleep(0.4)
print(sorted((int(a), b) for a, b in seen.items()), flush=True)
sys.exit(3)
"""


class Run:
    """gpuprof run on a counting program, in a process group of its own."""

    def __init__(self, folder, seconds=600, arguments=(), code=COUNT):
        self.process = subprocess.Popen(
            [e2e.GPUPROF, "run", "-q"] + e2e.FORMAT_OPTION + list(arguments) + [PYTHON, "-c", code, str(seconds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, preexec_fn=os.setpgrp)
        self.cli = self.process.pid
        self.program = int(self.process.stdout.readline().split()[1])

    def finish(self):
        output, errors = self.process.communicate(timeout=e2e.PATIENCE_S)
        return output.decode().strip(), self.process.returncode, errors.decode()


def state(pid):
    """Its letter; X where it has been collected: what goes on may end before anybody looks."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def wait_for_state(pid, wanted, seconds=e2e.PATIENCE_S):
    end = time.time() + seconds
    while time.time() < end:
        if (state(pid) == "T") == (wanted == "T"):
            return True
        time.sleep(0.02)
    return False


def arriving(checks, folder):
    alone = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]
    for number in alone:
        run = Run(folder)
        os.kill(run.cli, number)
        checks.equal(run.finish(), ("[(%d, 1)]" % number, 3, ""), "signal %d to gpuprof" % number)
    for number in alone + [signal.SIGINT, signal.SIGQUIT]:
        run = Run(folder)
        os.killpg(run.cli, number)
        checks.equal(run.finish(), ("[(%d, 1)]" % number, 3, ""), "signal %d to the group" % number)


def helper_of(cli):
    """gpuprof's second member of the group."""
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % entry) as file:
                name, rest = file.read().rsplit(")", 1)
            if name.endswith("(gpuprof-watch") and int(rest.split()[1]) == cli:
                return int(entry)
        except OSError:
            continue
    return None


def arriving_while_starved(checks, folder):
    """The helper, which knows to whom a signal was sent, gets no processor for longer than gpuprof waits by the clock."""
    cpu = {min(os.sched_getaffinity(0))}
    hogs = [subprocess.Popen([PYTHON, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, cpu)) for _ in range(2)]
    try:
        for _ in range(3):
            run = Run(folder)
            helper = helper_of(run.cli)
            if not checks.expect(helper, "gpuprof has a helper"):
                return
            os.sched_setaffinity(helper, cpu)
            os.sched_setscheduler(helper, os.SCHED_IDLE, os.sched_param(0))
            os.killpg(run.cli, signal.SIGTERM)
            checks.equal(run.finish(), ("[(15, 1)]", 3, ""), "a signal to the group while the helper is starved")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def dying(checks, folder):
    code = COUNT.replace("(1, 2, 3, 10, 12, 15, 18)", "()")
    for number, group in [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGTERM, True)]:
        run = Run(folder, 600, code=code)
        time.sleep(0.3)
        (os.killpg if group else os.kill)(run.cli, number)
        checks.equal(run.finish()[1], -number, "gpuprof dies of signal %d as the program" % number)


def stopping(checks, folder):
    run = Run(folder)
    os.killpg(run.cli, signal.SIGTSTP)
    checks.expect(wait_for_state(run.program, "T"), "TSTP to the group stops the program")
    checks.expect(wait_for_state(run.cli, "T"), "TSTP to the group stops gpuprof")
    _, status = os.waitpid(run.cli, os.WUNTRACED)
    checks.equal(os.WIFSTOPPED(status) and os.WSTOPSIG(status), int(signal.SIGTSTP),
                 "a shell sees the job stopped by TSTP")
    os.killpg(run.cli, signal.SIGCONT)
    checks.expect(wait_for_state(run.program, "S"), "CONT lets the program go on")
    checks.expect(wait_for_state(run.cli, "S"), "CONT lets gpuprof go on")
    checks.equal(run.finish()[:2], ("[(18, 1)]", 3), "CONT arrives once")

    run = Run(folder)
    os.kill(run.program, signal.SIGSTOP)
    checks.expect(wait_for_state(run.cli, "T"), "gpuprof stops with the program")
    os.kill(run.cli, signal.SIGCONT)
    checks.expect(wait_for_state(run.program, "S"), "CONT to gpuprof alone reaches the program")
    checks.equal(run.finish()[1], 3, "the program ends as ever")

    run = Run(folder)
    os.kill(run.program, signal.SIGSTOP)
    checks.expect(wait_for_state(run.cli, "T"), "gpuprof stops with the program again")
    os.kill(run.program, signal.SIGCONT)
    checks.expect(wait_for_state(run.cli, "S"), "CONT to the program alone lets gpuprof go on")
    checks.equal(run.finish()[1], 3, "the program ends as ever after that")

    run = Run(folder, 600)
    os.kill(run.program, signal.SIGSTOP)
    checks.expect(wait_for_state(run.cli, "T"), "gpuprof stops with a program about to be killed")
    os.kill(run.program, signal.SIGKILL)
    checks.equal(run.finish()[1], -9, "a program killed while it is stopped")

    run = Run(folder, code=COUNT.replace("print(\"ready\"", "signal.signal(20, note); print(\"ready\""))
    os.kill(run.cli, signal.SIGTSTP)
    checks.equal(run.finish()[0], "[(20, 1)]", "TSTP to gpuprof alone is passed on")


def descendants(checks, folder):
    command = "sleep %d >/dev/null 2>&1 & echo $!; setsid sleep %d >/dev/null 2>&1 & echo $!; exit 4"
    for wait_mode, seconds, left in [("primary", 600, 2), ("all", 3, 0)]:
        done = e2e.gpuprof(["-q", "-w", wait_mode], ["sh", "-c", command % (seconds, seconds)], cwd=folder)
        checks.equal(done.returncode, 4, "-w %s: the command's status" % wait_mode)
        lives = [int(pid) for pid in done.stdout.split() if state(int(pid)) not in "XZ"]
        checks.equal(len(lives), left, "-w %s: descendants that outlive it" % wait_mode)
        for pid in lives:
            os.kill(pid, signal.SIGKILL)


def two_at_once(checks, folder):
    runs = [Run(folder, 1, ["-o", os.path.join(folder, "same")]) for _ in range(3)]
    for run in runs:
        checks.equal(run.finish()[1], 3, "three runs into one folder")


def helper_is_gone(checks, folder):
    run = Run(folder, 0.5)
    group = run.cli
    run.finish()
    end = time.time() + e2e.PATIENCE_S
    while time.time() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            break
        # A zombie that a slow init has not collected still counts as a member of the group.
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and in_group(pid, group)]
        if not left:
            break
        time.sleep(0.1)
    else:
        checks.expect(False, "processes of the group are left: %r" % left)
    checks.expect(True, "nothing of gpuprof is left in the group")


def in_group(pid, group):
    try:
        with open("/proc/%s/stat" % pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return int(fields[2]) == group and fields[0] != "Z"


def main():
    checks = e2e.Checks()
    for case in (arriving, arriving_while_starved, dying, stopping, descendants, two_at_once, helper_is_gone):
        with e2e.Folder("signals") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
