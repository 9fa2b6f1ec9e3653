# SPDX-License-Identifier: Apache-2.0
"""A daemon that is stopped, hangs, works on in silence or is reported to end; and who collects it."""

import glob
import os
import select
import signal
import subprocess
import sys
import time

import e2e
import live
from spools import daemon_of, filled_spool_of

FAKE = os.path.join(e2e.SOURCE, "tests", "fakes", "fake_daemon.py")
PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable
# Until a file is there.
SPIN = """
import os, sys, time
end = time.time() + 600
while time.time() < end and not os.path.exists(sys.argv[1]): sum(range(1000))
print("done"); sys.exit(5)
"""


def start(out, *arguments):
    return subprocess.Popen([e2e.GPUPROF, "run", "-o", out, *arguments, PYTHON, "-c", SPIN, out + "-over"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def let_end(out):
    """Of the program of start()."""
    open(out + "-over", "w").close()


def stopped(checks, folder):
    for strict in (False, True):
        out = os.path.join(folder, "stopped-%d" % strict)
        process = start(out, *(["--strict"] if strict else []))
        spool = filled_spool_of(out)
        if not checks.expect(spool, "a spool while the program runs"):
            process.kill()
            return
        daemon = daemon_of(spool)
        os.kill(daemon, signal.SIGSTOP)
        let_end(out)
        begin = time.time()
        output, errors = process.communicate(timeout=e2e.PATIENCE_S)
        took, text = time.time() - begin, errors.decode()
        checks.equal((output, process.returncode), (b"done\n", 125 if strict else 5), "stopped: status")
        checks.in_time(took < 22, "gpuprof left a stopped daemon after %.1f s" % took)
        checks.expect("(process %d) is stopped" % daemon in text, "it is reported: " + text)
        checks.equal(text.count("gpuprof export"), 1, "the way to recover is reported once: " + text)
        done = subprocess.run([e2e.GPUPROF, "export", "-q", "-o", out + "-again", spool],
                              capture_output=True, timeout=e2e.PATIENCE_S)
        checks.equal(done.returncode, 0, "the spool can be exported: %r" % done.stderr)
        checks.equal(len(e2e.traces(out + "-again")), 1, "a file from the spool")
        os.kill(daemon, signal.SIGCONT)
        end = time.time() + e2e.PATIENCE_S
        while os.path.exists(spool) and time.time() < end:
            time.sleep(0.05)
        checks.equal(len(e2e.traces(out)), 1, "a daemon that goes on writes its file")


def fake(how, folder, seconds):
    environment = dict(os.environ, FAKE_DAEMON=how, FAKE_SECONDS=str(seconds))
    begin = time.time()
    done = e2e.gpuprof(["--daemon", FAKE, "-o", os.path.join(folder, how)], ["sh", "-c", "exit 4"],
                       env=environment)
    return done.returncode, done.stderr.decode(), time.time() - begin


def hanging(checks, folder):
    status, text, took = fake("hangs", folder, 0)
    checks.equal(status, 4, "hangs: the program's status")
    checks.expect("hangs: no message and no CPU time for 10 s" in text, "hangs: " + text)
    checks.in_time(took < 40, "hangs: %.1f s" % took)
    pid = int(text.split("kill -KILL ")[1].split("`")[0])
    os.kill(pid, signal.SIGKILL)


def busy(checks, folder):
    status, text, took = fake("busy", folder, 12)
    checks.equal(status, 4, "busy: the program's status")
    checks.expect("ended with 1024" in text and "hangs" not in text, "busy: its summary came: " + text)
    checks.expect(took >= 12, "busy: it was waited for, %.1f s" % took)


def ended_by_signal(checks, folder):
    """What gpuprof hears of it first, the daemon's summary or the program's end, is as chance has it."""
    for number, hears_late in ((signal.SIGTERM, False), (signal.SIGINT, True)):
        out = os.path.join(folder, "told-%d" % number)
        process = start(out, "--strict")
        spool = filled_spool_of(out)
        if not checks.expect(spool, "a spool while the program runs"):
            process.kill()
            return
        if hears_late:
            os.kill(process.pid, signal.SIGSTOP)
        os.kill(daemon_of(spool), number)
        live.wait_for(lambda: e2e.traces(out))
        let_end(out)
        if hears_late:
            select.select([process.stdout], [], [], e2e.PATIENCE_S)  # the program says that it is done
            os.kill(process.pid, signal.SIGCONT)
        output, errors = process.communicate(timeout=e2e.PATIENCE_S)
        text = errors.decode()
        checks.equal((output, process.returncode), (b"done\n", 125), "told to end: status")
        files = e2e.traces(out)
        checks.equal(len(files), 1, "told to end: the file is there")
        checks.expect(files and os.path.basename(files[0]) in text, "the summary names it: " + text)
        checks.expect("received SIGTERM, SIGINT or SIGHUP" in text and "nothing to recover" not in text, text)
        checks.expect(not glob.glob(os.path.join(out, ".gpuprof*")), "no spool is left")


# PID 1 that collects nobody: becomes the parent of orphans, counts them at the end.
LAZY_PARENT = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run(sys.argv[1:])
left = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open("/proc/%s/stat" % pid) as file: name, rest = file.read().rsplit(")", 1)
    except OSError: continue
    if int(rest.split()[1]) == os.getpid(): left.append(name + ") " + rest.split()[0])
print(sorted(left))
"""


def no_zombies(checks, folder):
    orphan = "sleep 1 >/dev/null 2>&1 & exit 0"
    for wait_mode, command in [("primary", "exit 0"), ("all", orphan)]:
        for _ in range(live.TRIES):  # one of ours that has no processor to end with is not waited for
            done = subprocess.run([PYTHON, "-c", LAZY_PARENT, e2e.GPUPROF, "run", "-q", "-w", wait_mode, "-o",
                                   os.path.join(folder, "z"), "sh", "-c", command],
                                  capture_output=True, text=True, timeout=e2e.PATIENCE_S)
            if done.stdout == "[]\n":
                break
        checks.equal((done.stdout, done.stderr), ("[]\n", ""), "-w %s: processes left to PID 1" % wait_mode)
    done = subprocess.run([PYTHON, "-c", LAZY_PARENT, e2e.GPUPROF, "run", "-q", "-o",
                           os.path.join(folder, "z"), "sh", "-c", orphan],
                          capture_output=True, text=True, timeout=e2e.PATIENCE_S)
    checks.expect("(sleep)" in done.stdout, "the program's orphans go where they always went: " +
                  done.stdout)


def main():
    checks = e2e.Checks()
    for case in (stopped, hanging, busy, ended_by_signal, no_zombies):
        with e2e.Folder("hung") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
