# SPDX-License-Identifier: Apache-2.0
"""gpuprofd --listen PATH serves runs with --daemon PATH: in turn, at once, and its own user only."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import time

import e2e
import live
from spools import count_filled_spools

PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable
SPIN = "import time\nwhile time.thread_time() < 1: sum(range(1000))"
# Until a file is there.
UNTIL = "import os, sys\nwhile not os.path.exists(sys.argv[1]): sum(range(1000))"
NOBODY = 65534


class Daemon:
    """A gpuprofd at an address; SIGTERM at the end of the block."""

    def __init__(self, address, folder):
        self.address, self.folder = address, folder

    def __enter__(self):
        self.process = subprocess.Popen([e2e.GPUPROFD, "--listen", self.address], cwd=self.folder,
                                        stderr=subprocess.PIPE)
        end = time.time() + e2e.PATIENCE_S
        while time.time() < end and not self.listens():
            time.sleep(0.01)
        return self

    def listens(self):
        """It has a name before it listens: __SO_ACCEPTCON, the fourth word, comes then."""
        with open("/proc/net/unix") as file:
            return any(line.rstrip().endswith(self.address) and line.split()[3] == "00010000" for line in file)

    def __exit__(self, *_):
        self.process.terminate()
        self.status = self.process.wait(timeout=e2e.PATIENCE_S)


def command(address, out, *more):
    return [e2e.GPUPROF, "run", "--daemon", address, "-o", out, *more, PYTHON, "-c", SPIN]


def sequential_and_concurrent_sessions(checks, folder):
    address = os.path.join(folder, "socket")
    with Daemon(address, folder) as daemon:
        checks.equal(os.stat(address).st_mode & 0o777, 0o600, "the socket is its user's")
        for i in range(2):
            done = subprocess.run(command(address, os.path.join(folder, "turn%d" % i)), cwd=folder,
                                  capture_output=True, timeout=e2e.PATIENCE_S)
            checks.equal(done.returncode, 0, "in turn: %r" % done.stderr)
            checks.equal(len(e2e.traces(os.path.join(folder, "turn%d" % i))), 1, "in turn: a file")
        # Into one folder: each has its own files and its own spool there.
        out = os.path.join(folder, "at-once")
        running = [subprocess.Popen(command(address, out), stderr=subprocess.PIPE) for _ in range(2)]
        named = set()
        for process in running:
            text = process.communicate(timeout=e2e.PATIENCE_S)[1].decode()
            checks.equal(process.returncode, 0, "at once: " + text)
            named |= {word for word in text.split() if word.endswith(".pt.trace.json.gz")}
        checks.equal(named, {os.path.basename(path) for path in e2e.traces(out)}, "at once: files")
        checks.equal(len(named), 2, "at once: one file each")
        checks.expect(not glob.glob(os.path.join(out, ".gpuprof*")), "no spool is left")
        done = subprocess.run([e2e.GPUPROFD, "--listen", address], capture_output=True, timeout=e2e.PATIENCE_S)
        checks.expect(done.returncode != 0 and b"another daemon listens" in done.stderr,
                      "a second daemon is refused: %r" % done.stderr)
        checks.equal(daemon.process.poll(), None, "the daemon stays")
    checks.equal(daemon.status, 0, "SIGTERM ends it")
    checks.expect(not os.path.exists(address), "its socket is gone")
    done = subprocess.run(command(address, os.path.join(folder, "none")), capture_output=True, timeout=e2e.PATIENCE_S)
    checks.equal(done.returncode, 125, "nobody listens any more: %r" % done.stderr)


def run_two_concurrently(folder, name, *more):
    """What two runs with one fixed file name say; none ends before the other has found the name free."""
    over = os.path.join(folder, "over")
    words = [e2e.GPUPROF, "run", *more, "-o", name, PYTHON, "-c", UNTIL, over]
    running = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(2)]
    live.wait_for(lambda: count_filled_spools(folder) == 2)
    open(over, "w").close()
    return [process.communicate(timeout=e2e.PATIENCE_S)[1].decode() for process in running]


def two_daemons_with_one_name(checks, folder):
    """Two sessions of one daemon with one fixed file name: both are kept."""
    name = os.path.join(folder, "fixed.pt.trace.json.gz")
    with Daemon("@gpuprof-one-name-%d" % os.getpid(), folder) as daemon:
        texts = run_two_concurrently(folder, name, "--daemon", daemon.address)
    loser(checks, folder, name, texts)


def loser(checks, folder, name, texts):
    failed = [text for text in texts if "failed: " in text]
    if not checks.equal(len(failed), 1, "one of two lost the name: %r" % texts):
        return
    checks.expect("cannot write %s: the file exists" % name in failed[0], failed[0])
    checks.equal(failed[0].count("recover with:"), 1, "how to recover: " + failed[0])
    spool = failed[0].split("recover with: gpuprof export ")[1].split("\n")[0]
    again = subprocess.run([e2e.GPUPROF, "export", spool], capture_output=True, timeout=e2e.PATIENCE_S)
    checks.expect(again.returncode == 125 and b"use `gpuprof export` with -o for another name" in again.stderr,
                  "the name is still taken: %r" % again.stderr)
    other = os.path.join(folder, "other.pt.trace.json.gz")
    again = subprocess.run([e2e.GPUPROF, "export", "-q", "-o", other, spool], capture_output=True,
                           timeout=e2e.PATIENCE_S)
    checks.equal(again.returncode, 0, "export: %r" % again.stderr)
    pids = [{event["pid"] for event in e2e.load(path)["traceEvents"] if event.get("ph") == "X"}
            for path in (name, other)]
    checks.expect(pids[0] and pids[1] and pids[0] != pids[1], "both runs are kept: %r" % pids)


def private_daemons(checks, folder):
    name = os.path.join(folder, "fixed.pt.trace.json.gz")
    loser(checks, folder, name, run_two_concurrently(folder, name))


def stale_socket(checks, folder):
    address = os.path.join(folder, "stale")
    with Daemon(address, folder) as daemon:
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait(timeout=e2e.PATIENCE_S)
        checks.expect(os.path.exists(address), "a killed daemon leaves its socket")
    with Daemon(address, folder) as daemon:
        checks.equal(daemon.process.poll(), None, "the next one takes its place")


def other_user(checks, folder):
    if os.getuid() != 0 or not shutil.which("setpriv"):
        checks.skip("another user needs root and setpriv")
        return
    os.chmod(folder, 0o777)
    reach = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    if subprocess.run(reach + ["test", "-r", e2e.LIBRARY], capture_output=True).returncode != 0:
        checks.skip("another user cannot read the build")
        return
    for address, part in [(os.path.join(folder, "socket"), "A daemon serves its own user only"),
                          ("@gpuprof-other-%d" % os.getpid(), "accepts only processes of its own user")]:
        with Daemon(address, folder) as daemon:
            done = subprocess.run(reach + command(address, os.path.join(folder, "out")), cwd=folder,
                                  capture_output=True, timeout=e2e.PATIENCE_S)
            text = done.stderr.decode()
            checks.equal(done.returncode, 125, "another user at %s: %s" % (address, text))
            checks.expect(part in text and text.count("\n") == 1, "one message: " + text)
            checks.equal(daemon.process.poll(), None, "the daemon stays")


def main():
    checks = e2e.Checks()
    for case in (sequential_and_concurrent_sessions, two_daemons_with_one_name, private_daemons, stale_socket, other_user):
        with e2e.Folder("listening") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
