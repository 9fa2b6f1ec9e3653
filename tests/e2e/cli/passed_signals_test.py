# SPDX-License-Identifier: Apache-2.0
"""Every signal that can be caught is the program's: sent to the group, to gpuprof alone, by a terminal that is closed."""

import ctypes
import json
import os
import pty
import signal
import subprocess
import sys
import time

import e2e
import live

PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable
UNDER = [e2e.GPUPROF, "run", "-q", *e2e.FORMAT_OPTION, "--"]
ARMED = [e2e.GPUPROF, "run", "-q", "--armed", "--"]
# What they say is about gpuprof itself.
OURS = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT, signal.SIGTTIN, signal.SIGTTOU, signal.SIGWINCH,
        signal.SIGPIPE, signal.SIGXFSZ}
PASSED = sorted(int(n) for n in signal.valid_signals() - OURS)

# Counts signals, or ignores them; sends each to its own group if told; what came goes into a file.
COUNT = """
import json, os, signal, sys, time
how, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
numbers = json.loads(sys.argv[4])
seen = {}
def note(number, frame): seen[number] = seen.get(number, 0) + 1
for number in numbers: signal.signal(number, signal.SIG_IGN if how == "ignore" else note)
print("ready", os.getpid(), flush=True)
if how in ("group", "ignore"):
    for number in numbers:
        os.killpg(0, number)
        time.sleep(0.02)
end = time.time() + seconds
while time.time() < end and len(seen) < len(numbers): time.sleep(0.02)
time.sleep(0.4)
with open(path + ".part", "w") as file: json.dump(sorted(seen.items()), file)
os.rename(path + ".part", path)
sys.exit(3)
"""


def counting(how, seconds, path, numbers=PASSED):
    return [PYTHON, "-c", COUNT, how, str(seconds), path, json.dumps([int(n) for n in numbers])]


def wait_for_file(path, seconds=e2e.PATIENCE_S):
    end = time.time() + seconds
    while time.time() < end and not os.path.exists(path):
        time.sleep(0.05)
    if not os.path.exists(path):
        return "no file"
    with open(path) as file:
        return [tuple(pair) for pair in json.load(file)]


def to_the_group(checks, folder):
    for how, wanted in (("group", [(n, 1) for n in PASSED]), ("ignore", [])):
        path = os.path.join(folder, how)
        for under in (UNDER, ARMED):
            done = subprocess.run(under + counting(how, 0, path), cwd=folder, capture_output=True, timeout=e2e.PATIENCE_S,
                                  start_new_session=True)
            checks.equal((done.returncode, done.stderr), (3, b""), "%s: the program's status: %r" % (how, under[3:]))
            checks.equal(wait_for_file(path, 0), wanted, "%s: each came once" % how)


def to_gpuprof_alone(checks, folder):
    path = os.path.join(folder, "alone")
    process = subprocess.Popen(UNDER + counting("wait", 600, path), cwd=folder, stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    for number in PASSED:
        os.kill(process.pid, number)
        time.sleep(0.1)
    checks.equal(process.wait(timeout=e2e.PATIENCE_S), 3, "the program's status")
    checks.equal(wait_for_file(path, 0), [(n, 1) for n in PASSED], "each sent to gpuprof alone came once")


def queued_value(checks, folder):
    """A queued signal keeps its value (si_value, 24 bytes into siginfo_t)."""
    code = """
import ctypes, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [40]); print("ready", flush=True)
wanted, info = (ctypes.c_ulong * 16)(1 << 39), (ctypes.c_int * 32)()
ctypes.CDLL(None).sigwaitinfo(wanted, info)
raise SystemExit(info[6])
"""
    process = subprocess.Popen(UNDER + [PYTHON, "-c", code], cwd=folder, stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    ctypes.CDLL(None).sigqueue(process.pid, 40, ctypes.c_void_p(77))
    if not checks.equal(process.wait(timeout=e2e.PATIENCE_S), 77, "the value of a queued signal"):
        os.killpg(process.pid, signal.SIGKILL)


def in_a_terminal(command, folder, rest_s=0.0):
    """The command as leader of a session with a terminal, which is closed so long after it is ready; its wait status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # of whoever was started by nohup it is ignored
        os.execvp(command[0], command)
    output = b""
    while b"\n" not in output:  # a terminal may hand out a line in two pieces, and closing it between them fails the write
        output += os.read(terminal, 999)
    time.sleep(rest_s)
    os.close(terminal)
    end = time.time() + e2e.PATIENCE_S
    while time.time() < end:
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            return status
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "still running"


def hang_up(checks, folder):
    received = [signal.SIGHUP, signal.SIGCONT]
    behind = ["sh", "-c", "trap '' CONT; \"$@\"; exit 6", "sh"]  # the shell is the leader, not gpuprof
    for name, under in (("plain", []), ("run", UNDER), ("armed", ARMED)):
        for way, before in (("leader", []), ("behind", behind)):
            path = os.path.join(folder, name + way)
            status = in_a_terminal([*before, *under, *counting("wait", 600, path, received)], folder)
            wanted = 1 if before else 3 << 8
            checks.equal(status, wanted, "%s, %s: the leader's end" % (name, way))
            checks.equal(wait_for_file(path), [(1, 1), (18, 1)], "%s, %s: the hang-up came once" % (name, way))
        dying = [PYTHON, "-c", "import time; print('ready', flush=True); time.sleep(600)"]
        checks.equal(in_a_terminal([*under, *dying], folder), 1, name + ": it dies of the hang-up")


def alarms(checks, folder):
    """An alarm set before the exec of gpuprof is the program's, which may call it off."""
    call_off = "import signal, time; left = signal.alarm(0); time.sleep(left + 1); raise SystemExit(4 if left else 5)"
    # The second one has to be called off in time.
    for code, seconds, wanted in (("import time; time.sleep(600)", 2, -signal.SIGALRM), (call_off, 5, 4)):
        for under in ([], UNDER):
            for times in (1, 6):
                done = subprocess.run(under + [PYTHON, "-c", code], cwd=folder, timeout=e2e.PATIENCE_S,
                                      preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, seconds * times))
                if done.returncode == wanted:
                    break
            checks.equal(done.returncode, wanted, "an inherited alarm, %r" % under[:1])


def surroundings(checks, folder):
    def odd():
        # The library in the program has a handler for SIGBUS.
        kept = {signal.SIGKILL, signal.SIGSTOP, signal.SIGBUS}
        if e2e.sanitized():
            kept.add(signal.SIGFPE)  # an instrumented command handles it
        for number in signal.valid_signals() - kept:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    grep = ["grep", "-E", "SigIgn|SigBlk", "/proc/self/status"]
    for prepare in (None, odd):
        plain, under = (subprocess.run(words + grep, cwd=folder, capture_output=True, timeout=e2e.PATIENCE_S, preexec_fn=prepare)
                        for words in ([], UNDER))
        checks.equal(under.stdout, plain.stdout, "what the program ignores and blocks")


def own_fault(checks, folder):
    """A fault in gpuprof's own instructions still ends it."""
    process = subprocess.Popen(UNDER + counting("wait", 600, os.path.join(folder, "own"), [10]), cwd=folder,
                               stdout=subprocess.PIPE, start_new_session=True)
    program = int(process.stdout.readline().split()[1])
    try:
        live.wait_for(lambda: live.thread_states(process.pid) == {"S"})
        with open("/proc/%d/syscall" % process.pid) as file:
            after_call = int(file.read().split()[-1], 16)
        with open("/proc/%d/mem" % process.pid, "r+b", buffering=0) as memory:
            memory.seek(after_call)
            memory.write(b"\x0f\x0b")
    except (OSError, ValueError) as reason:
        checks.skip("a process's code cannot be changed here: %s" % reason)
        os.killpg(process.pid, signal.SIGKILL)
        return
    os.kill(process.pid, signal.SIGCONT)
    checks.equal(process.wait(timeout=e2e.PATIENCE_S), -signal.SIGILL, "a fault of gpuprof's own")
    os.kill(program, 10)
    checks.expect(wait_for_file(os.path.join(folder, "own")) != "no file", "the program runs to its end")


TAKEN = """
import signal, sys, time
def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(300))
busy(0.5)
seen = []
for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
    signal.signal(number, lambda number, frame: seen.append(number))
taken_ns = time.monotonic_ns()
busy(0.5)
print(seen, taken_ns)
"""


def sampling_signals(checks, folder):
    """A program that takes the signal that samples come by is given none of ours, and is sampled on by another one,
    where there is another."""
    for taken in ("every signal", "one"):
        out = os.path.join(folder, taken)
        program = TAKEN if taken != "one" else TAKEN.replace("range(signal.SIGRTMIN, signal.SIGRTMAX + 1)", "(61,)")
        done = e2e.gpuprof(["-q", "--rate", "1000", "-o", out], [sys.executable, "-c", program], cwd=folder)
        seen, taken_ns = done.stdout.split()
        checks.equal((done.returncode, seen, done.stderr), (0, b"[]", b""), "a program that takes " + taken)
        times = live.sample_times_ns(e2e.traces(out)[0])
        before, after = (sum(one < int(taken_ns) for one in times), sum(one > int(taken_ns) for one in times))
        print("%s: %d stacks begin before it is taken, %d after" % (taken, before, after))
        checks.expect(before > 0, taken + ": sampled until then")
        if taken == "one":
            checks.expect(after > 0, taken + ": and afterwards")


def main():
    checks = e2e.Checks()
    for case in (sampling_signals, to_the_group, to_gpuprof_alone, queued_value, hang_up, alarms, surroundings, own_fault):
        with e2e.Folder("passed") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
