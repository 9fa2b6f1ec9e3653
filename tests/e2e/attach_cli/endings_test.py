# SPDX-License-Identifier: Apache-2.0
"""How recordings of running processes end: stop, Ctrl-C, a killed command, a killed daemon, a process that
ends, forks or becomes another program, steps that never come."""

import os
import re
import signal
import subprocess
import time

import e2e
import live
import spools
import windows

# Becomes what LATER says when it gets USR1. A child is taken up after 10 ms of CPU time, which it has soon.
LATER = """
import os, signal, sys, time
def child(*_):
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            work(0.1)
        os._exit(0)
def other(*_):
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[2], "600"])
def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10000)); time.sleep(0.001)
actions = {"end": lambda *_: sys.exit(7), "fork": child, "exec": other}
signal.signal(signal.SIGUSR1, actions[sys.argv[1]])
print(os.getpid(), flush=True)
work(600)
"""


# It takes 5 s, and 30 s without --step-timeout.
GIVES_UP_S = 25
# Until somebody ends it.
LONG = ("-d", "600s")


def later(what):
    return [live.PYTHON, "-c", LATER, what, live.BUSY]


def paths_of(done):
    return done.stdout.split()


def begin(program, out, *words):
    """A capture of `program` that has begun to record."""
    command = live.Background("capture", program.pid, *(words or LONG), "-o", out)
    return command if live.wait_until_recorded(program.pid) else None


def stop_of_a_capture(checks, folder):
    with live.Program(live.prefix("--armed") + live.busy()) as program:
        live.wait_until_armed(program.pid)
        command = begin(program, os.path.join(folder, "out"))
        live.let_run(program.pid, 0.3)
        done = live.cli("stop", program.pid)
        checks.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "stop")
        done = command.end()
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "the capture writes its file: " + done.stderr)
        checks.expect("`gpuprof stop` ended the recording" in done.stderr and "(gpuprof stop)" in done.stderr, done.stderr)
        checks.expect(live.duration_seconds(paths_of(done)[0]) < 600, "and its window is short")
        checks.expect(live.wait_until_armed(program.pid), "the process waits again")
        done = live.cli("stop", program.pid)
        checks.expect(done.returncode == 125 and "it is not being recorded" in done.stderr, done.stderr)


def stop_of_a_run(checks, folder):
    out = os.path.join(folder, "run")
    with live.Program(live.prefix("-o", out, "--strict") + live.busy()) as program:
        live.wait_until_recorded(program.pid)
        live.let_run(program.pid, 0.5, 0.2)
        done = live.cli("stop", program.pid)
        checks.equal((done.returncode, done.stderr), (0, ""), "stop of a run")
        checks.expect(live.wait_for(lambda: e2e.traces(out)), "its file is written while the program goes on")
        checks.expect(program.process.poll() is None, "which it does")
        status, stdout, errors = program.let_end()
        checks.equal((status, stdout), (7, "done\n"), "the run ends as its program, also with --strict")
        checks.expect("`gpuprof stop` ended the recording" in errors and "failed" not in errors, errors)
        checks.equal(len(e2e.traces(out)), 1, "files")


def interrupted_once(checks, folder):
    with live.Program(live.prefix("--armed") + live.busy()) as armed, live.Program(live.busy()) as plain:
        live.wait_until_armed(armed.pid)
        before = live.threads(plain.pid), live.descriptors(plain.pid)
        for command, pid, number in (("capture", armed.pid, signal.SIGINT), ("attach", plain.pid, signal.SIGTERM)):
            running = live.Background(command, pid, *LONG, "-o", os.path.join(folder, command))
            live.wait_until_recorded(pid)
            live.let_run(pid, 0.3)
            os.kill(running.pid, number)
            done = running.end()
            checks.equal((done.returncode, len(paths_of(done))), (0, 1), "%s, interrupted: %s" % (command, done.stderr))
            checks.expect("recorded (interrupted)" in done.stderr and "(Ctrl-C, TERM or HUP)" in done.stderr, done.stderr)
        checks.expect(live.wait_until_armed(armed.pid), "the armed one waits again")
        live.check_detached(checks, plain.pid, before, "after an interrupted attach")


def pending(pid, number):
    """Whether a signal waits until the process gets to run."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as file:
        return any(int(mask, 16) >> (number - 1) & 1 for mask in re.findall(r"(?:SigPnd|ShdPnd):\t(\w+)", file.read()))


def interrupted_twice(checks, folder):
    out = os.path.join(folder, "out")
    with live.Program(live.prefix("--armed") + live.busy()) as program:
        live.wait_until_armed(program.pid)
        command = live.Background("capture", program.pid, *LONG, "-o", out)
        daemon = live.wait_until_recorded(program.pid)["daemon_pid"]
        os.kill(daemon, signal.SIGSTOP)  # else it would be done before the second one
        os.kill(command.pid, signal.SIGINT)
        live.let_run(program.pid, 0.3)
        live.wait_for(lambda: not pending(command.pid, signal.SIGINT))  # two that wait are one
        os.kill(command.pid, signal.SIGINT)
        done = command.end()
        checks.equal(done.returncode, 125, "two interrupts: " + done.stderr)
        checks.expect(str(daemon) in done.stderr, "the daemon is named: " + done.stderr)
        os.kill(daemon, signal.SIGCONT)
        checks.expect(live.wait_for(lambda: e2e.traces(out)), "it writes the file alone")
        checks.expect(live.wait_until_armed(program.pid), "the process waits again")
        checks.expect(live.wait_for(lambda: not os.path.exists("/proc/%d" % daemon)), "and the daemon ends")


def killed_command(checks, folder):
    with live.Program(live.prefix("--armed") + live.busy()) as armed, live.Program(live.busy()) as plain:
        live.wait_until_armed(armed.pid)
        before = live.threads(plain.pid), live.descriptors(plain.pid)
        for command, pid in (("capture", armed.pid), ("attach", plain.pid)):
            out = os.path.join(folder, command)
            running = live.Background(command, pid, *LONG, "-o", out)
            live.wait_until_recorded(pid)
            live.let_run(pid, 0.3)
            os.kill(running.pid, signal.SIGKILL)
            running.end()
            checks.expect(live.wait_for(lambda: e2e.traces(out)), "%s killed: the daemon writes the file" % command)
        checks.expect(live.wait_until_armed(armed.pid), "the armed one waits again")
        live.wait_for(lambda: plain.pid not in live.status())
        live.check_detached(checks, plain.pid, before, "after a killed attach")


def killed_daemon(checks, folder):
    with live.Program(live.prefix("--armed") + live.busy()) as armed, live.Program(live.busy()) as plain:
        live.wait_until_armed(armed.pid)
        before = live.threads(plain.pid), live.descriptors(plain.pid)
        for command, pid in (("capture", armed.pid), ("attach", plain.pid)):
            out = os.path.join(folder, command)
            running = live.Background(command, pid, *LONG, "-o", out)
            row = live.wait_until_recorded(pid)
            live.let_run(pid, 0.7)
            spools.filled_spool_of(out)
            os.kill(row["daemon_pid"], signal.SIGKILL)
            done = running.end()
            checks.equal((done.returncode, len(e2e.traces(out))), (125, 1), "%s, daemon killed: %s" % (command, done.stderr))
            checks.expect("recovered" in done.stderr, done.stderr)
        checks.expect(live.wait_until_armed(armed.pid), "the armed one waits again")
        live.wait_for(lambda: plain.pid not in live.status())
        live.check_detached(checks, plain.pid, before, "after a killed daemon")


def killed_before_the_daemon_came(checks, folder):
    """The library is in, and whoever brought it is gone: it releases itself."""
    with live.Program(live.busy()) as program:
        before = live.threads(program.pid), live.descriptors(program.pid)
        os.mkdir(os.path.join(folder, "out"))
        running = live.Background("attach", program.pid, *LONG, "-o", os.path.join(folder, "out"))
        seen = live.wait_for(lambda: live.control_socket_files(program.pid) or running.process.poll() is not None)
        os.kill(running.pid, signal.SIGKILL)
        running.end()
        checks.expect(seen, "the library came in")
        gone = live.wait_for(lambda: not live.control_socket_files(program.pid))
        checks.expect(gone, "it detaches")
        live.check_detached(checks, program.pid, before, "after a killed attach")


def process_that_ends(checks, folder):
    for how in ("end", "kill"):
        with live.Program(live.prefix("--armed") + later("end")) as program:
            live.wait_until_armed(program.pid)
            command = begin(program, os.path.join(folder, how))
            live.let_run(program.pid, 0.5)
            os.kill(program.pid, signal.SIGKILL if how == "kill" else signal.SIGUSR1)
            done = command.end()
            checks.equal((done.returncode, len(paths_of(done))), (0, 1), "%s during a capture: %s" % (how, done.stderr))
            status = program.process.wait(timeout=e2e.PATIENCE_S)
            checks.equal(status, -9 if how == "kill" else 7, "the program's own status")


def stop_once_recorded(checks, program, what):
    """Ends the recording of a program and the child that it forks once the child is in it."""
    def child():
        found = subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True).stdout.split()
        return found and (live.status().get(int(found[0])) or {}).get("state") == "recording"
    checks.expect(live.wait_for(child), what + " is recorded")
    live.cli("stop", program.pid)


def process_that_forks(checks, folder):
    with live.Program(live.prefix("--armed") + later("fork")) as program:
        live.wait_until_armed(program.pid)
        command = begin(program, os.path.join(folder, "fork"), *LONG, "--all-processes")
        os.kill(program.pid, signal.SIGUSR1)
        stop_once_recorded(checks, program, "the child")
        done = command.end()
        pids = [live.head(path)["pid"] for path in paths_of(done)]
        checks.equal((done.returncode, len(pids), program.pid in pids), (0, 2, True),
                     "a child that was forked during a capture: " + done.stderr)
        checks.expect(live.wait_until_armed(program.pid), "the process waits again")


def process_of_another_user_that_forks(checks, folder):
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    try:
        if os.getuid() != 0 or subprocess.run(nobody + ["test", "-x", live.PYTHON]).returncode != 0:
            return checks.skip("another user: needs root, and a python3 that anybody may start")
    except OSError:
        return checks.skip("another user: needs setpriv(1)")
    with live.Program(nobody + later("fork")) as program:
        command = live.Background("attach", program.pid, *LONG, "--all-processes", "-o", os.path.join(folder, "other"))
        if checks.expect(live.wait_until_recorded(program.pid), "another user's process is recorded"):
            os.kill(program.pid, signal.SIGUSR1)
        stop_once_recorded(checks, program, "another user's child")
        done = command.end()
        pids = [live.head(path)["pid"] for path in paths_of(done)]
        checks.equal((done.returncode, len(pids), program.pid in pids), (0, 2, True),
                     "and so is the child that it forks: " + done.stderr)


def process_that_becomes_another(checks, folder):
    with live.Program(live.prefix("--armed") + later("exec")) as program:
        live.wait_until_armed(program.pid)
        command = begin(program, os.path.join(folder, "exec"))
        live.let_run(program.pid, 0.3)
        os.kill(program.pid, signal.SIGUSR1)
        done = command.end()
        checks.equal(done.returncode, 0, "exec during a capture: " + done.stderr)
        checks.expect(len(paths_of(done)) >= 1, "has a file")
        checks.expect(live.wait_until_armed(program.pid), "the new program waits, as it was started armed")
        done = windows.cli("capture", program.pid, "-d", "250ms", "-o", os.path.join(folder, "after"))
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "and can be captured: " + done.stderr)
    with live.Program(later("exec")) as program:
        command = live.Background("attach", program.pid, *LONG, "-o", os.path.join(folder, "attach"))
        live.wait_until_recorded(program.pid)
        live.let_run(program.pid, 0.3)
        os.kill(program.pid, signal.SIGUSR1)
        done = command.end()
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "exec during an attach: " + done.stderr)
        checks.expect("which does not contain the gpuprof library" in done.stderr and "LD_PRELOAD" not in done.stderr, done.stderr)
        checks.expect(program.pid not in live.status() and not live.control_socket_files(program.pid), "nothing of us stays")


def steps_that_never_come(checks, folder):
    with live.Program(live.busy()) as program:
        before = live.threads(program.pid), live.descriptors(program.pid)
        for number, (words, ends_as, message) in enumerate((
                ((), (0, 1), "the file holds the first 5 s after the start of the recording instead"),
                (("--on-no-step", "none"), (125, 0), "nothing was recorded because of --on-no-step none"))):
            began = time.monotonic()
            command = live.Background("attach", program.pid, "--active", "2", "--step-timeout", "1s", *words,
                                      "-o", os.path.join(folder, str(number)))
            done = command.end()
            took = time.monotonic() - began
            checks.in_time(took < GIVES_UP_S, "attach %s gives up within %d s" % (" ".join(words), GIVES_UP_S))
            checks.equal((done.returncode, len(paths_of(done))), ends_as, "no step: " + done.stderr)
            checks.expect("no step was seen (--step auto); " + message in done.stderr, done.stderr)
            print("no step within --step-timeout 1s %s: exit status %d after %.1f s" % (
                " ".join(words), done.returncode, took))
        live.check_detached(checks, program.pid, before, "after steps that never came")


def stopped_while_recorded(checks, folder):
    """Nobody waits for a process that cannot answer; it detaches once it goes on."""
    with live.Program(live.busy()) as program:
        before = live.threads(program.pid), live.descriptors(program.pid)
        command = live.recording_for(1, "attach", program, folder)
        live.let_run(program.pid, 0.1)
        os.kill(program.pid, signal.SIGSTOP)
        began = time.monotonic()
        done = command.end()
        took = time.monotonic() - began
        checks.in_time(took < 7.5, "it took %.1f s to end beside a stopped process" % took)
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "stopped: " + done.stderr)
        checks.expect("has not detached yet because it is stopped" in done.stderr, done.stderr)
        print("a process that was stopped while it was recorded: over %.1f s later" % took)
        os.kill(program.pid, signal.SIGCONT)
        live.check_detached(checks, program.pid, before, "after it was stopped while recorded")


def stale_control_socket(checks, folder):
    with live.Program(live.prefix("--armed") + live.busy()) as program:
        live.wait_until_armed(program.pid)
        control_sockets = live.control_socket_files(program.pid)
        checks.equal(len(control_sockets), 1, "a control socket")
        os.kill(program.pid, signal.SIGKILL)
        program.process.wait(timeout=e2e.PATIENCE_S)
        # Unless the `status` of a test beside this one has removed it by now.
        checks.expect(live.control_socket_files(program.pid) in (control_sockets, []), "a killed process leaves its control socket's file")
        done = live.cli("capture", program.pid, cwd=folder)
        checks.expect(done.returncode == 125 and "process %d does not exist" % program.pid in done.stderr, done.stderr)
        checks.expect(program.pid not in live.status(), "status does not list it")
        checks.equal(live.control_socket_files(program.pid), [], "and removes the file")
    with live.Program(live.prefix("--armed") + live.busy()) as program:
        live.wait_until_armed(program.pid)
        for path in live.control_socket_files(program.pid):
            os.unlink(path)
        checks.expect(live.wait_until_armed(program.pid), "a control socket whose file somebody removed is opened again")


def main():
    checks = e2e.Checks()
    for case in (stop_of_a_capture, stop_of_a_run, interrupted_once, interrupted_twice, killed_command, killed_daemon,
                 killed_before_the_daemon_came, process_that_ends, process_that_forks,
                 process_of_another_user_that_forks, process_that_becomes_another,
                 steps_that_never_come, stopped_while_recorded, stale_control_socket):
        with e2e.Folder("endings") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
