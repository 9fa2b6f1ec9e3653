# SPDX-License-Identifier: Apache-2.0
"""`gpuprof attach` to processes that are named, end or change as few do: what it says, and what it records."""

import os
import signal
import subprocess
import time

import e2e
import live
import windows

NAMED = """
import os, time
with open("/proc/self/comm", "w") as file:
    file.write("gpuprof")
print(os.getpid(), flush=True)
end = time.monotonic() + 600
while time.monotonic() < end:
    sum(range(20000)); time.sleep(0.002)
"""


# Ends, or becomes another program, so many seconds after the library has come.
LEAVES = """
import os, sys, threading, time
def watch():
    while True:
        with open("/proc/self/maps") as file:
            if "libgpuprof_inject" in file.read():
                break
    time.sleep(float(sys.argv[2]))
    if sys.argv[1] == "ends":
        os._exit(7)
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"])
threading.Thread(target=watch, daemon=True).start()
print(os.getpid(), flush=True)
while True:
    time.sleep(0.01)
"""

# May have no more threads until it gets USR1.
TIGHT = """
import os, resource, signal, time
soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
signal.signal(signal.SIGUSR1, lambda *_: resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard)))
resource.setrlimit(resource.RLIMIT_NPROC, (0, hard))
print(os.getpid(), flush=True)
while True:
    sum(range(20000)); time.sleep(0.002)
"""


# Has a child that ends as soon as the library has come, or that somebody has stopped.
CHILD = """
import os, signal, sys, time
child = os.fork()
while child == 0:
    with open("/proc/self/maps") as file:
        if "libgpuprof_inject" in file.read():
            os._exit(0)
if sys.argv[1] == "stopped":
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
print(os.getpid(), flush=True)
signal.signal(signal.SIGTERM, lambda *_: (os.kill(child, signal.SIGKILL), sys.exit(0)))
while True:
    sum(range(20000)); time.sleep(0.002)
"""


def paths_of(done):
    return done.stdout.split()


def named_like_worker_thread(checks, folder):
    with live.Program([live.PYTHON, "-c", NAMED]) as program:
        for number in ("1", "2"):
            done = windows.cli("attach", program.pid, "-d", "250ms", "-o", os.path.join(folder, number))
            checks.equal((done.returncode, len(paths_of(done))), (0, 1), "a program called gpuprof: " + done.stderr)


def ends_or_execs_during_attach(checks, folder):
    rows = (("ends", " ended during the attach"), ("execs", " started another program (exec) during the attach"))
    for how, part in rows:
        for seconds in (0, 0.001, 0.003):  # sooner than who might still answer is given up, after 3 s
            with live.Program([live.PYTHON, "-c", LEAVES, how, str(seconds)]) as program:
                time.sleep(0.1)
                begin = time.monotonic()
                out = os.path.join(folder, "out")
                done = live.cli("attach", program.pid, "-d", "250ms", "-o", out)
                took, what = time.monotonic() - begin, "%s after %g s" % (how, seconds)
                checks.in_time(took < 2.9, "%s: took %.1f s" % (what, took))
                if done.returncode == 0:  # it had begun to record before
                    checks.equal(len(paths_of(done)), 1, what + ": has a file")
                    continue
                # Joined at its control socket in its last moment, it is the daemon that sees it go.
                known = ("process %d%s" % (program.pid, part), "cannot be recorded", " has ended and waits",
                         windows.NOTHING)
                checks.expect(any(one in done.stderr for one in known), "%s: %s" % (what, done.stderr))


def as_nobody(command):
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + command


def thread_is_refused(checks, folder):
    try:
        if os.getuid() != 0 or subprocess.run(as_nobody(["test", "-x", live.PYTHON])).returncode != 0:
            return checks.skip("no thread: needs root, and a python3 that anybody may start")
    except OSError:
        return checks.skip("no thread: needs setpriv(1)")
    with live.Program(as_nobody([live.PYTHON, "-c", TIGHT])) as program:
        out = os.path.join(folder, "out")
        done = windows.cli("attach", program.pid, "-d", "250ms", "-o", out)
        checks.equal((done.returncode, done.stdout, os.path.exists(out)), (125, "", False), "no thread is to be had")
        checks.expect("cannot start its thread: a limit on threads or memory is reached" in done.stderr
                      and done.stderr.count("\n") == 1, done.stderr)
        os.kill(program.pid, signal.SIGUSR1)
        done = windows.cli("attach", program.pid, "-d", "250ms", "-o", out)
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "the limit is raised: " + done.stderr)


def interrupted_early(checks, folder):
    out, early = os.path.join(folder, "out"), 0
    with live.Program(live.busy()) as program:
        for wait_ms in range(0, 61, 4):
            running = live.Background("attach", "-q", program.pid, "-d", "30s", "-o", out)
            time.sleep(wait_ms / 1000)
            running.process.send_signal(signal.SIGINT)
            done = running.end()
            what = "interrupted after %d ms: %s" % (wait_ms, done.stderr)
            if done.returncode == 0:
                checks.equal((len(paths_of(done)), done.stderr), (1, ""), what)
                continue
            checks.equal((done.stdout, os.path.exists(out) and not os.listdir(out)), ("", False), what)
            if done.returncode != -signal.SIGINT:  # it had just been started
                early += 1
                checks.equal((done.returncode, done.stderr.count("\n")), (125, 1), what)
                checks.expect("interrupted (Ctrl-C, TERM or HUP) before anything was recorded" in done.stderr, what)
    if early == 0:
        checks.skip("interrupted early: no moment was early enough")


def child_that_ends(checks, folder):
    with live.Program([live.PYTHON, "-c", CHILD, "ends"]) as program:
        done = windows.cli("attach", program.pid, "--children", "-d", "250ms", "-o", os.path.join(folder, "out"))
        checks.expect(done.returncode == 0 and len(paths_of(done)) >= 1, "a child that ends: " + done.stderr)
        checks.expect("failed" not in done.stderr, done.stderr)
        reported = "1 process that --children found ended before" in done.stderr
        checks.expect(reported or "ended before gpuprof recorded anything" in done.stderr or "2 processes seen" in done.stderr, done.stderr)
    with live.Program([live.PYTHON, "-c", CHILD, "stopped"]) as program:
        done = windows.cli("attach", "-q", program.pid, "--children", "-d", "250ms",
                           "-o", os.path.join(folder, "stopped"))
        checks.equal((done.returncode, len(paths_of(done))), (125, 1), "a child that is stopped: " + done.stderr)
        checks.expect("is stopped" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
        program.end()


CASES = (named_like_worker_thread, ends_or_execs_during_attach, thread_is_refused, interrupted_early,
         child_that_ends)


def main():
    checks = e2e.Checks()
    for case in CASES:
        with e2e.Folder("unusual") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
