# SPDX-License-Identifier: Apache-2.0
"""The programs that must not notice gpuprof. Each case: name, command, options.

Add a case for every kind of program a feature could disturb."""

import os
import sys

import e2e

PROGRAMS = os.path.join(e2e.BUILD, "unchanged")

PY_FORK = r"""
import os, sys
def burn(n):
    x = 0
    for i in range(n): x += i * i
    return x
burn(300000)
pids = []
for k in range(5):
    pid = os.fork()
    if pid == 0:
        burn(400000)
        os._exit(k)
    pids.append(pid)
print([os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) if hasattr(os, 'waitstatus_to_exitcode')
       else os.waitpid(p, 0)[1] >> 8 for p in pids])
"""

PY_POOL = r"""
import multiprocessing as mp
def f(x):
    s = 0
    for i in range(20000): s += i % (x + 1)
    return s
if __name__ == '__main__':
    for method in ('fork', 'spawn'):
        with mp.get_context(method).Pool(3) as pool:
            print(method, pool.map(f, range(12)))
"""

PY_THREADS = r"""
import threading, queue
q, out = queue.Queue(), []
def work():
    while True:
        n = q.get()
        if n is None: return
        out.append(sum(i * i for i in range(n)))
ts = [threading.Thread(target=work) for _ in range(6)]
for t in ts: t.start()
for n in range(200): q.put(n * 50)
for t in ts: q.put(None)
for t in ts: t.join()
print(sum(out), threading.active_count())
"""

PY_FAULTHANDLER = r"""
import faulthandler, sys, ctypes
faulthandler.enable()
def inner():
    for i in range(300000): pass
    print('before', flush=True)
    ctypes.string_at(8)
def outer(): inner()
outer()
"""

PY_SIGNALS = r"""
import signal, os, time
got = []
signal.signal(signal.SIGUSR1, lambda s, f: got.append(s))
signal.signal(signal.SIGALRM, lambda s, f: got.append(s))
for i in range(20):
    os.kill(os.getpid(), signal.SIGUSR1)
    for k in range(20000): pass
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(0.2)
print(got.count(signal.SIGUSR1), got.count(signal.SIGALRM))
# Faults and one realtime signal may have a handler of the profiler's.
print([s for s in range(1, 32) if s not in (7, 11) and signal.getsignal(s) not in
       (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler)
       and not callable(signal.getsignal(s))])
"""

PY_ASYNC = r"""
import asyncio
async def leaf(n):
    await asyncio.sleep(0.001)
    return sum(range(n))
async def main():
    return sum(await asyncio.gather(*[leaf(i * 100) for i in range(100)]))
print(asyncio.run(main()))
"""

PY_EXCEPTIONS = r"""
import sys
def deep(n):
    if n == 0: raise ValueError('bottom')
    try:
        deep(n - 1)
    except ValueError as e:
        raise KeyError(n) from e
n = 0
for i in range(300):
    try: deep(20)
    except KeyError: n += 1
print(n)
sys.exit('a message on stderr')
"""

PY_SUBPROCESS = r"""
import subprocess, sys
print(subprocess.run(['sh', '-c', 'cat; exit 3'], input=b'abc', capture_output=True))
print(subprocess.run([sys.executable, '-c', 'import os; os._exit(6)']).returncode)
print(subprocess.check_output('echo $((6*7)) | tr 4 5', shell=True))
"""


def program(name):
    return os.path.join(PROGRAMS, name)


def python_cases(python, tag):
    def run(code, *flags):
        return [python, *flags, "-c", code]
    yield tag + "-fork-warn-always", run(PY_FORK, "-W", "always"), {}
    yield tag + "-threads", run(PY_THREADS), {}
    yield tag + "-signals", run(PY_SIGNALS), {}
    yield tag + "-faulthandler-crash", run(PY_FAULTHANDLER), {"mask": True}


def is_world_accessible(path):
    """Whether users other than the owner may enter every folder above `path`."""
    folder = os.path.dirname(os.path.realpath(path))
    while os.stat(folder).st_mode & 0o001:
        if folder == "/":
            return True
        folder = os.path.dirname(folder)
    return False


CHILDREN_RESET = """
import os, signal, time
def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: sum(range(1000))
busy(0.2)
for number in range(8):
    child = os.fork()
    if child == 0:
        for one in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(one, signal.SIG_DFL)
        busy(0.05)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

CHILD_TAKES = """
import os, signal, time
number, got = signal.SIGRTMAX - 3, []
end = time.thread_time() + 0.3
while time.thread_time() < end: sum(range(1000))
for one in range(8):
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)
        signal.signal(number, lambda *_: got.append(1))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        for _ in range(1000): pass
        os._exit(len(got))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def cases(scratch):
    """Yields (name, argv, options): stdin=bytes, env=dict, mask=bool, armed=bool (waiting to be recorded, too),
    needs=path or None."""
    python = e2e.real_python() or sys.executable
    yield "true", ["/bin/true"], {}
    yield "false", ["/bin/false"], {}
    yield "shell-pipes", ["sh", "-c", "seq 1 2000 | sort -r | head -5 | tr '\\n' ' '; exit 4"], {}
    yield "bash-traps", ["bash", "-c", "trap 'echo bye' EXIT; (exit 3); echo $?; wait"], {}
    yield "stdin", ["sh", "-c", "cat; read x || echo end"], {"stdin": b"line one\nline two"}
    yield "shell-kills-itself", ["sh", "-c", "kill -TERM $$"], {}
    yield "background-child", ["sh", "-c", "sleep 0.2 & wait; echo done"], {}
    yield "env", ["sh", "-c", "env | grep -v -e ^ASAN_OPTIONS= -e ^LD_PRELOAD= -e ^GPUPROF_ -e _INJECTION64_PATH= "
                  "-e ^_= | sort"], {}
    yield "fds", ["sh", "-c", "ls /proc/self/fd | tr '\\n' ' '"], {}
    yield "first-open", [program("first_open")], {}
    yield "sigwait", [program("sigwait")], {}
    yield "sigwait-late", [program("sigwait_late")], {}
    yield "eintr", [program("eintr")], {}
    yield "masked-waits", [program("masked_waits")], {}
    yield "sandboxed", [program("sandboxed")], {}
    computes = [python, "-c", "print('sum', sum(i * i for i in range(10 ** 7)))"]
    yield "traced", [program("traced"), *computes], {}
    yield "debugger", ["sh", "-c", "gdb -q -nx -batch -ex run --args \"$@\" 2>&1 | grep -e ^sum -e received", "sh", *computes], {
        "needs": "/usr/bin/gdb"}
    yield "signals", [program("signals")], {}
    yield "aligned", [program("aligned")], {"armed": True}
    yield "reset-signals", [program("reset_signals")], {"armed": True}
    yield "own-signals", [program("own_signals"), "named"], {"armed": True}
    yield "own-signals-all", [program("own_signals"), "all"], {"armed": True}
    yield "small-alt-stack", [program("small_alt_stack")], {"armed": True}
    yield "pending-limit", [program("pending_limit")], {"armed": True}
    yield "pending-limit-handled", [program("pending_limit"), "handled"], {"armed": True}
    for corner in ("nested", "file", "handled", "child", "order", "timer", "fault"):
        yield "signal-corners-" + corner, [program("signal_corners"), corner], {"armed": True}
    for sent in ("blocked", "early", "thread", "ignored", "restart", "heirs", "suspend", "default", "queue", "old", "pending"):
        yield "sent-faults-" + sent, [program("sent_faults"), sent], {"armed": True}
    for call in ("fork", "exit"):
        yield "handler-calls-" + call, [program("handler_calls"), call], {"armed": True}
    for sent in ("pending", "taken", "thread", "many", "unguarded"):
        yield "sent-elsewhere-" + sent, [program("sent_elsewhere"), sent], {"armed": True}
    yield "python-child-takes-our-signal", [python, "-c", CHILD_TAKES], {"armed": True}
    yield "dispositions", [program("dispositions")], {"armed": True}
    yield "python-children-reset-signals", [python, "-c", CHILDREN_RESET], {"armed": True}
    yield "cancelled", [program("cancelled")], {"armed": True}
    yield "threads", [program("threads")], {}
    yield "crash", [program("crash")], {}
    yield "crash-with-core", ["sh", "-c", "ulimit -c unlimited; cd %s; exec %s"
                              % (scratch, program("crash"))], {}
    yield "segv-handler", [program("segv_handler")], {}
    yield "quick-exit", [program("quick_exit")], {}
    yield "main-ends-first", [program("main_ends_first")], {}
    yield "raw-threads", [program("raw_threads")], {}
    yield "own-names", [program("own_names")], {"armed": True}
    yield "bare-exit", [program("bare_exit")], {"armed": True}
    for how in ("prctl", "bare-prctl", "seccomp", "all-threads", "strict", "each-thread"):
        yield "filtered-by-" + how, [program("filtered"), how], {"armed": True}
    yield "filtered-while-starved", [program("filtered"), "all-threads", "starved"], {"armed": True}
    yield "vfork-exec", [program("vfork_exec")], {}
    yield "fork-tree", [program("fork_tree")], {}
    yield "fork-threads", [program("fork_threads"), "4", "50"], {"armed": True}
    if os.geteuid() == 0:
        yield "drop-privileges", [program("drop_privileges")], {}
        yield "give-up-root", [program("give_up_root")], {"armed": True}
        yield "give-up-capabilities", [program("give_up_root"), "capabilities"], {"armed": True}
        # The loader says so where the new user cannot read the library.
        if is_world_accessible(e2e.LIBRARY):
            yield "drop-privileges-exec", ["setpriv", "--reuid", "65534", "--clear-groups", "id"], {
                "needs": "/usr/bin/setpriv"}
    yield "user-namespace", ["unshare", "-Ur", "id", "-u"], {"needs": "/usr/bin/unshare"}
    yield "one-thread-only", [program("alone"), "200"], {"armed": True}
    yield "one-thread-only-starved", [program("alone"), "200", "starved"], {"armed": True}
    yield "runpath-plugin", [program("runpath_main")], {}
    yield "static", [program("static_hello")], {}
    yield "asan-command", [program("asan")], {}
    yield "asan-child", ["sh", "-c", program("asan") + "; echo status $?"], {}
    yield "32-bit-child", ["sh", "-c", program("hello32") + "; echo status $?"], {
        "needs": program("hello32")}
    spaces = os.path.join(scratch, "a folder with spaces: and a colon")
    os.makedirs(spaces, exist_ok=True)
    yield "cwd-with-spaces", ["sh", "-c", "cd '%s' && pwd | wc -c && ls" % spaces], {}
    jemalloc = next((p for p in ("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
                                 "/usr/lib/libjemalloc.so.2") if os.path.exists(p)), None)
    yield "jemalloc-preloaded", [python, "-c", PY_THREADS], {
        "env": {"LD_PRELOAD": jemalloc or ""}, "needs": jemalloc or "/no/jemalloc"}
    yield "python-pool", [python, "-c", PY_POOL], {"script": PY_POOL}
    yield "python-async", [python, "-c", PY_ASYNC], {}
    yield "python-exceptions", [python, "-c", PY_EXCEPTIONS], {}
    yield "python-subprocess", [python, "-c", PY_SUBPROCESS], {}
    yield "python-os-exit-in-thread", [python, "-c", "import os, threading\n"
                                       "threading.Thread(target=lambda: os._exit(11)).start()\n"
                                       "while True: pass"], {}
    yield "python-exec", [python, "-c", "import os, sys\nfor i in range(10**6): pass\n"
                          "os.execv(sys.executable, [sys.executable, '-c', 'print(5)'])"], {}
    for version in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
        found = e2e.real_python("python" + version)
        if found is None:
            yield "python" + version, None, {"needs": "/no/python" + version}
            continue
        yield from python_cases(found, "python" + version)
