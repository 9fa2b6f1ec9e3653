# SPDX-License-Identifier: Apache-2.0
"""`gpuprof attach` to programs that take realtime signals without a handler, have small alternate stacks, or reach
their limit of pending signals, or block faults that are sent to them: they print and end as without it."""

import os
import signal
import subprocess
import threading
import time

import e2e
import live
import windows

PROGRAMS = os.path.join(e2e.BUILD, "unchanged")
CASES = (("own_signals", "named"), ("own_signals", "all"), ("small_alt_stack",), ("pending_limit",),
         ("sent_faults", "early"), ("sent_faults", "blocked"), ("sent_elsewhere", "many", "3000"))
SERVERS = 5
# They run for a second or two: on a busy machine attach may come when one is over, which says nothing.
TRIES = 5


def start(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def end(process):
    output = process.communicate(timeout=e2e.PATIENCE_S)[0]
    return process.returncode, output.decode()


def attached(checks, command, out, wait_s, what, plain):
    """It ends as without gpuprof."""
    for _ in range(TRIES):
        process = start(command)
        time.sleep(wait_s)
        done = windows.cli("attach", process.pid, "-f", "-r", 1000, "-d", "600ms", "-o", out)
        stop = process.poll() is not None
        checks.equal(end(process), plain, what)
        if done.returncode == 0 or not stop:
            checks.equal((done.returncode, len(done.stdout.split())), (0, 1), what + ": attach: " + done.stderr)
            return
    checks.skip("%s: it was over before anybody came, %d times" % (what, TRIES))


def send_until(process, stop):
    while not stop.wait(0.0002):  # clock: a pause
        process.send_signal(signal.SIGSEGV)


def served(checks, out):
    """What is sent while the library is loaded waits for the program, as all of it does."""
    process = start([os.path.join(PROGRAMS, "sent_elsewhere"), "served"])
    checks.equal(process.stdout.readline(), b"ready\n", "served")
    stop = threading.Event()
    sender = threading.Thread(target=send_until, args=(process, stop))
    sender.start()
    done = windows.cli("attach", process.pid, "-d", "100ms", "-o", out)
    stop.set()
    sender.join()
    process.send_signal(signal.SIGTERM)
    checks.equal(done.returncode, 0, "served: attach: " + done.stderr)
    checks.equal(end(process), (0, "taken 1\n"), "served")


def main():
    checks = e2e.Checks()
    with e2e.Folder("own_signals") as folder:
        for case in CASES:
            name = "-".join(case)
            command = [os.path.join(PROGRAMS, case[0]), *case[1:]]
            plain = end(start(command))
            for number, wait_s in enumerate((0.1, 0.5)):
                out = os.path.join(folder, "%s_%d" % (name, number))
                attached(checks, command, out, wait_s, name, plain)
        for number in range(SERVERS):
            served(checks, os.path.join(folder, "served_%d" % number))
    checks.done()


if __name__ == "__main__":
    main()
