# SPDX-License-Identifier: Apache-2.0
"""Family processes: storms of processes, threads and signals; and the small programs of tests/e2e/unchanged."""

import os
import signal
import subprocess
import time

import cases
import e2e
import live
import passed_signals_test
import staged
import unchanged_test
from attempt import PROGRAMS, RATE, Result, Skip, load_json, require_files
from fault import add, fault

FORKS = {"workers": "storm of loader workers", "vfork": "vfork and exec", "spawn": "posix_spawn", "daemons": "double fork",
         "exit-in-thread": "_exit in a thread", "exec-self": "exec of itself", "setsid": "setsid",
         "clone": "clone: CLONE_FS, CLONE_VM|CLONE_VFORK", "fork-among-threads": "fork among threads"}
THREADS = {"churn": "thread churn", "itimer": "SIGPROF by itimer", "gperf": "SIGPROF as gperftools",
           "alternate-stacks": "alternate signal stacks", "blocked": "blocked signals", "interrupted": "calls that signals interrupt",
           "unblocked-to-wait": "signals unblocked only to wait"}


def storm(program, mode, seconds):
    path = os.path.join(PROGRAMS, program)
    require_files(path)
    return [path, mode, "%g" % seconds]


def under_run(program, mode):
    def body(attempt):
        options = attempt.random.choice([RATE, RATE, RATE + ["--all-processes"]])
        attempt.unchanged(storm(program, mode, attempt.random.choice([0.3, 1, 2])), options)
    return body


def attached(program, mode):
    """The same storm, attached to in the middle, and detached again before its end."""
    def body(attempt):
        words = storm(program, mode, 3)
        began = time.monotonic()
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(attempt.random.uniform(0.1, 0.8))
        summary, out = attempt.path("summary.json"), attempt.path("out")
        command = attempt.execute([e2e.GPUPROF, "attach", str(process.pid), *RATE, "-d", "1s", "-o", out, "--summary-json", summary],
                                  limit_s=40, what="gpuprof attach")
        print(command.status, command.err.decode()[-600:], flush=True)
        try:
            stdout, stderr = process.communicate(timeout=40 * staged.patience())
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return attempt.harm("the program hangs after an attach")
        profiled = Result(process.returncode, stdout, stderr, time.monotonic() - began)
        attempt.check_same_as_plain(profiled, words)
        if command.status == 0:
            attempt.read_traces(out, len(load_json(summary).get("files", [])))
        else:
            attempt.expect(command.err.strip(), "attach says why it does not record")
    return body


for _mode, _name in FORKS.items():
    add("processes", _name, under_run("torture_forks", _mode), quick=_mode == "spawn")
    add("processes", _name + ", attached", attached("torture_forks", _mode))
for _mode, _name in THREADS.items():
    add("processes", _name, under_run("torture_threads", _mode), quick=_mode == "itimer")
    add("processes", _name + ", attached", attached("torture_threads", _mode))


@fault("processes", "dlopen, dlclose, throw, fork, malloc", limit_s=120)
def everything_at_once(attempt):
    """The sampler's own stress: prints counters, so only its end is compared."""
    program = os.path.join(e2e.BUILD, "bin", "sampler_stress")
    plugins = [os.path.join(e2e.BUILD, "lib", "libsampler_plugin_%d.so" % n) for n in range(1, 6)]
    require_files(program, *plugins)
    profiled = attempt.run([program, "4", *plugins], RATE)
    last = (profiled.out.decode().splitlines() or [""])[-1]
    attempt.equal((profiled.status, last), (0, "done failures 0"), "its end: %r" % profiled.err[-300:])
    attempt.expect(profiled.seconds < 30 * staged.patience(), "slow: %.1f s for 4 s" % profiled.seconds)
    attempt.read_traces(profiled.folder)


@fault("processes", "a debugger")
def debugger(attempt):
    """A program under ptrace is stopped by no signal of gpuprof."""
    program = os.path.join(e2e.BUILD, "unchanged", "traced")
    require_files(program)
    attempt.unchanged([program, live.PYTHON, "-c", "print(sum(i * i for i in range(5 * 10 ** 6)))"], RATE)


@fault("processes", "a filter that no library sees")
def unseen_filter(attempt):
    program = os.path.join(e2e.BUILD, "unchanged", "sandboxed")
    require_files(program)
    attempt.unchanged([program], RATE)


@fault("processes", "many at once", limit_s=120)
def many_at_once(attempt):
    """Several sessions beside each other, each with its own file."""
    words = storm("torture_forks", "workers", 1.5)
    running = []
    for i in range(6):
        command = [e2e.GPUPROF, "run", "-q", "-o", attempt.path("out%d" % i), "--", *words]
        running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    for i, process in enumerate(running):
        out, err = process.communicate(timeout=80 * staged.patience())
        attempt.equal((process.returncode, out, err), (0, b"done workers failures 0\n", b""), "session %d" % i)
        attempt.read_traces(attempt.path("out%d" % i))


def small_programs(attempt, begin=""):
    """One of the programs that must not notice us, by chance."""
    found = [c for c in cases.cases(attempt.folder) if c[0].startswith(begin) and c[1] and not (c[2].get("needs") and not os.path.exists(c[2]["needs"]))]
    found = [c for c in found if os.path.exists(c[1][0]) or "/" not in c[1][0]]
    if not found:
        raise Skip("the programs of tests/e2e/unchanged are not built")
    name, argv, options = attempt.random.choice(found)
    print("case: " + name, flush=True)
    if options.get("script"):
        with open(attempt.path(name + ".py"), "w", encoding="utf-8") as file:
            file.write(options["script"])
        argv = [argv[0], attempt.path(name + ".py")]
    unchanged_test.check(attempt, name, argv, options, attempt.folder, attempt.random.choice([100, 1000]))


for _number in range(1, 5):
    add("processes", "a small program, %d" % _number, small_programs)
add("processes", "system calls are restricted (seccomp)", lambda attempt: small_programs(attempt, "filtered-by-"))


@fault("processes", "Python: processes, threads, signals")
def python(attempt):
    code = """
import multiprocessing as mp, os, signal, threading, time, subprocess, sys
ticks = []
signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
def f(x): return sum(i % (x + 1) for i in range(20000))
if __name__ == "__main__":
    end = time.monotonic() + 1.5
    while time.monotonic() < end or len(ticks) <= 20:
        with mp.get_context("fork").Pool(2) as pool: assert len(pool.map(f, range(8))) == 8
        threads = [threading.Thread(target=f, args=(i,)) for i in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
        assert subprocess.run(["sh", "-c", "exit 3"]).returncode == 3
    print("ticks", len(ticks) > 20)
    # At its end the interpreter gives the signal's default back, which would end it.
    signal.setitimer(signal.ITIMER_REAL, 0)
"""
    path = attempt.path("program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    attempt.unchanged([live.PYTHON, path], RATE)



SIGNALS = """
import os, signal, sys, time
numbers, handled, group = eval(sys.argv[1]), sys.argv[2] == "handled", sys.argv[3] == "group"
seen = []
for number in numbers: signal.signal(number, (lambda n, _: seen.append(n)) if handled else signal.SIG_IGN)
for number in numbers:
    (os.killpg(0, number) if group else os.kill(os.getpid(), number))
    time.sleep(0.01)
time.sleep(0.2)
print(sorted(seen))
sys.exit(5)
"""


@fault("processes", "signals to its own group", quick=True)
def signals_to_the_group(attempt):
    """Any signals: what the program takes or ignores ends nobody."""
    # Those that stop, those about children, and the one that wakes the library's thread.
    numbers = [int(n) for n in signal.valid_signals() - {9, 17, 18, 19, 20, 21, 22, 23}]
    chosen = attempt.random.sample(numbers, attempt.random.randint(1, 12))
    words = [live.PYTHON, "-c", SIGNALS, repr(chosen), attempt.random.choice(["handled", "ignored"]),
             attempt.random.choice(["group", "group", "alone"])]
    print(words[3:], flush=True)
    profiled = attempt.run(words, RATE)
    attempt.check_same_as_plain(profiled, words)


@fault("processes", "terminal closed")
def terminal_closed(attempt):
    """The leader of the session is reported: without gpuprof that is the program."""
    handled = attempt.random.random() < 0.5
    code = "import signal, sys, time\n" + ("signal.signal(1, lambda *_: sys.exit(6))\n" if handled else "")
    words = [live.PYTHON, "-c", code + "print('ready', flush=True)\nend = time.time() + 20\nwhile time.time() < end: sum(range(1000))"]
    out = attempt.path("out")
    wait = attempt.random.uniform(0, 0.5)
    command = [e2e.GPUPROF, "run", *attempt.random.choice([["-q", "-o", out], ["--armed"]]), "--", *words]
    for name, under in (("without", words), ("with", command)):
        status = passed_signals_test.in_a_terminal(under, attempt.folder, wait)
        attempt.equal(status, 6 << 8 if handled else signal.SIGHUP, name + " us, the end")
