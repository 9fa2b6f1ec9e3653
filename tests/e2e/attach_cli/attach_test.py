# SPDX-License-Identifier: Apache-2.0
"""`gpuprof attach` and `detach`: what they record, what they leave in the process, what they refuse."""

import json
import os
import pty
import re
import signal
import subprocess
import time

import e2e
import live
import windows

PREFORK = """
import os, sys, time
children = []
for i in range(3):
    pid = os.fork()
    if pid == 0:
        break
    children.append(pid)
print(os.getpid(), flush=True) if children and len(children) == 3 else None
end = time.monotonic() + 600
while time.monotonic() < end:
    sum(range(20000)); time.sleep(0.002)
"""


def paths_of(done):
    return done.stdout.split()


def threads_and_descriptors(pid):
    return live.threads(pid), live.descriptors(pid)


def records_and_detaches(checks, folder):
    with live.Program(live.busy()) as program:
        before = threads_and_descriptors(program.pid)
        for number in (1, 2, 3):
            done = windows.cli("attach", program.pid, "-d", "400ms", "-o", os.path.join(folder, str(number)))
            paths = paths_of(done)
            checks.equal((done.returncode, len(paths)), (0, 1), "attach %d: %s" % (number, done.stderr))
            if not paths:
                return
            checks.expect(live.sample_count(paths[0]) > 0, "attach %d has stacks" % number)
            what = "inject" if number == 1 and not done.again else "activate"
            checks.expect("gpuprof stopped one thread for " in done.stderr and "to %s its library" % what in done.stderr, done.stderr)
            live.check_detached(checks, program.pid, before, "after attach %d" % number)
            checks.expect(program.pid not in live.status(), "status lists it no more")
        status, _, errors = program.end()
        checks.equal((status, errors), (-15, ""), "the program goes on until it is ended, and says nothing")


def stays_until_detached(checks, folder):
    with live.Program(live.busy()) as program:
        before = threads_and_descriptors(program.pid)
        done = windows.cli("attach", "-p", program.pid, "--stay", "-d", "250ms", "-o", os.path.join(folder, "stay"))
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "attach --stay: " + done.stderr)
        row = live.wait_until_armed(program.pid)
        checks.expect(row and row["attached"], "it waits for another capture: %r" % row)
        done = windows.cli("capture", program.pid, "-d", "250ms", "-o", os.path.join(folder, "again"))
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "capture: " + done.stderr)
        done = live.cli("detach", program.pid)
        checks.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "detach")
        live.check_detached(checks, program.pid, before, "after detach")
        done = live.cli("detach", program.pid)
        checks.expect(done.returncode == 125 and "it is detached" in done.stderr, done.stderr)


def detach_of_a_run(checks, folder):
    out = os.path.join(folder, "run")
    with live.Program(live.prefix("-o", out) + live.busy()) as program:
        checks.expect(live.wait_until_recorded(program.pid), "a run is recorded")
        live.let_run(program.pid, 0.5, 0.2)
        done = live.cli("detach", program.pid)
        checks.equal((done.returncode, done.stderr), (0, ""), "detach of a run's process")
        live.wait_for(lambda: "gpuprof" not in live.threads(program.pid), live.DETACH_TIMEOUT_S)
        checks.expect("gpuprof" not in live.threads(program.pid) and not live.control_socket_files(program.pid),
                      "nothing of gpuprof runs there: %r" % live.threads(program.pid))
        done = windows.cli("attach", program.pid, "-d", "250ms", "-o", out + "-attach")
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "attach wakes the library again: " + done.stderr)
        checks.expect("to activate its library" in done.stderr, done.stderr)
        status, stdout, errors = program.let_end()
        checks.equal((status, stdout), (7, "done\n"), "the run ends as its program")
        checks.equal(len(e2e.traces(out)), 1, "with what was recorded until then: " + errors)


def traced(folder, *words):
    """`gpuprof attach WORDS`, and the processes that it recorded. One that got no processor meanwhile has no file."""
    path = os.path.join(folder, "summary.json")
    done = live.cli("attach", *words, "--summary-json", path)
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["processes"]
    pids = sorted(row["pid"] for row in rows if row["role"] == "traced")
    return done, pids if {live.head(one)["pid"] for one in paths_of(done)} <= set(pids) else None


def tree(checks, folder):
    with live.Program([live.PYTHON, "-c", PREFORK]) as program:
        live.wait_for(lambda: len(children_of(program.pid)) == 3)
        pids = sorted([program.pid] + children_of(program.pid))
        before = {pid: threads_and_descriptors(pid) for pid in pids}
        try:
            out = os.path.join(folder, "tree")
            done, recorded = traced(folder, program.pid, "--children", "--all-processes", "-d", "500ms", "-o", out)
            checks.equal((done.returncode, recorded), (0, pids), "a prefork tree: " + done.stderr)
            checks.expect("4 processes" in done.stderr, done.stderr)
            for pid in pids:
                live.check_detached(checks, pid, before[pid], "process %d of the tree" % pid)
            for option in (["-p"], []):
                two = option + ["%d,%d" % tuple(pids[:2])]
                done, recorded = traced(folder, *two, "-d", "500ms", "-o", out + "-two%d" % len(option))
                checks.equal((done.returncode, recorded), (0, pids[:2]), "two that were named: " + done.stderr)
        finally:
            for pid in pids[1:]:
                live.signal_if_alive(pid, signal.SIGKILL)


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def refusals(checks, folder):
    with live.Program(live.busy()) as program:
        before = threads_and_descriptors(program.pid)
        fixed = os.path.join(folder, "fixed.pt.trace.json")
        open(fixed, "w").close()
        free = 1 << 21
        ended = subprocess.Popen(["true"])
        ended.wait()
        rows = [
            (["attach"], "needs a process"), (["capture"], "needs a process"), (["stop"], "needs a process"),
            (["attach", "nobody"], "'nobody' is not a process id"), (["attach", "0"], "'0' is not a process id"),
            (["attach", free], "process %d does not exist" % free), (["attach", ended.pid], "process %d does not exist" % ended.pid),
            (["capture", free], "process %d does not exist" % free), (["capture", "nobody"], "no process is named 'nobody'"),
            (["capture", program.pid], "gpuprof attach %d" % program.pid),
            (["stop", program.pid], "the gpuprof library is not loaded in process"),
            (["attach", program.pid, "-o", fixed], "-f"),
            (["attach", program.pid, "-o", "/proc/none"], "output folder"),
            (["attach", program.pid, "--summary-json", "/no/such/file"], "cannot write"),
            (["attach", program.pid, "--daemon", "/no/such"], "daemon"),
            (["attach", program.pid, "--wait", "3"], "--active N"),
            (["attach", program.pid, "-d", "5"], "write 5s"),
            (["run", "--armed", "-o", "x", "true"], "give -o to that command"),
            (["run", "--armed", "-d", "1s", "true"], "give the schedule to that command"),
            (["env", "python3"], "gpuprof run --armed python3"),
        ]
        for words, part in rows:
            done = live.cli(*words, cwd=folder)
            checks.equal((done.returncode, done.stdout), (125, ""), "%r is refused" % words)
            checks.expect(part in done.stderr and done.stderr.count("\n") == 1, "%r says %r" % (words, done.stderr))
        checks.equal(threads_and_descriptors(program.pid), before, "nothing was asked of the process")
        checks.expect("gpuprof" not in live.maps(program.pid), "and nothing was loaded into it")
        checks.equal(sorted(os.listdir(folder)), ["fixed.pt.trace.json"], "no folder is left behind")
        done = windows.cli("attach", program.pid, "-d", "250ms", "-f", "-o", fixed)
        checks.equal((done.returncode, paths_of(done)), (0, [fixed]), "-f overwrites: " + done.stderr)


def stopped_process(checks, folder):
    with live.Program(live.prefix("--armed") + live.busy()) as armed, live.Program(live.busy()) as plain:
        live.wait_until_armed(armed.pid)
        for pid in (armed.pid, plain.pid):
            os.kill(pid, signal.SIGSTOP)
            live.wait_for(lambda: live.thread_states(pid) == {"T"})
        try:
            done = live.cli("capture", armed.pid, "-d", "250ms", cwd=folder)
            checks.equal(done.returncode, 125, "capture of a stopped process")
            checks.expect("kill -CONT %d" % armed.pid in done.stderr and done.stderr.count("\n") == 1, done.stderr)
            row = live.status().get(armed.pid)
            checks.equal(row and row["state"], "no answer", "status lists it all the same")
            done = live.cli("attach", plain.pid, "-d", "250ms", cwd=folder)
            checks.equal(done.returncode, 125, "attach to a stopped process: " + done.stderr)
            checks.expect("stopped" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
            checks.equal(os.listdir(folder), [], "no folder is left behind")
        finally:
            for pid in (armed.pid, plain.pid):
                os.kill(pid, signal.SIGCONT)
        done = windows.cli("capture", armed.pid, "-d", "250ms", "-o", os.path.join(folder, "on"))
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "once it goes on: " + done.stderr)


def on_a_terminal(words):
    """`gpuprof WORDS`: its status, and all that it wrote there."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen([e2e.GPUPROF, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=terminal)
    os.close(terminal)
    seen = b""
    while True:
        try:
            part = os.read(controller, 4096)
        except OSError:
            break  # the other side is closed
        if not part:
            break
        seen += part
    os.close(controller)
    return process.wait(timeout=e2e.PATIENCE_S), seen.decode()


def progress(checks, folder):
    stages = [r"injected \([0-9.]+ [mun]?s pause\)", "waiting for window 1 of 2", "recording window 1 of 2",
              "recording window 2 of 2", "detached", "2 trace files"]
    for times in windows.LENGTH_FACTORS:  # a stage may be over before the command gets to run
        with live.Program(live.busy()) as program:
            words = ["attach", program.pid, "--active", "600ms", "--wait", "300ms", "--repeat", "2",
                     "-o", os.path.join(folder, "tty-%d" % times)]
            status, text = on_a_terminal(windows.lengthened(words, times))
        positions = [match.start() if match else -1 for match in (re.search(stage, text) for stage in stages)]
        if status != 0 or -1 not in positions:
            break
    checks.equal(status, 0, "attach on a terminal")
    checks.expect(-1 not in positions and positions == sorted(positions), "stages in order %r: %r" % (positions, text))


def main():
    checks = e2e.Checks()
    for case in (records_and_detaches, stays_until_detached, detach_of_a_run, tree, refusals, stopped_process,
                 progress):
        with e2e.Folder("attach") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
