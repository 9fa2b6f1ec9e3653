# SPDX-License-Identifier: Apache-2.0
"""What cannot be attached to is refused with its own message, unharmed; what is only unusual works.

usage: refusals_test.py [--only NAME]"""

import argparse
import ctypes
import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import attach_lib as lib
import e2e
import seccomp

IS_ROOT = os.geteuid() == 0
NOBODY = 65534
SLEEP = ["sh", "-c", "echo ready; exec sleep 600"]  # for Asleep, which waits until it is that
PR_SET_DUMPABLE = 4
MEMFD_CREATE, OPENAT = 319, 257


class SleepingTarget(lib.Target):
    """A shell that has become sleep(1)."""

    def __init__(self, command=SLEEP, **keywords):
        super().__init__(command, **keywords)
        lib.wait_for(lambda: self.process.poll() is not None or lib.is_sleeping_as(self.pid, "sleep"))


def check_refused(checks, what, pid, message, **keywords):
    """Whether it is refused with these words."""
    done = lib.inject(pid, **keywords)
    checks.expect(message in done.get("error", ""), "%s: %r wanted: %s" % (what, message, done))
    checks.equal(done["status"], 1, what + ": status")


def check_unharmed(checks, what, target):
    checks.equal(target.process.poll(), None, what + ": it lives")
    checks.expect(not lib.loaded(target.pid), what + ": nothing is loaded")


def check_attaches(checks, what, target, **keywords):
    done = lib.inject(target.pid, lib.VECTORS, **keywords)
    checks.equal(done.get("answer"), 42, "%s: %s" % (what, done))
    checks.expect(lib.loaded(target.pid), what + ": it is loaded")
    checks.equal(target.process.poll(), None, what + ": it lives")


def gone(checks):
    process = subprocess.Popen(["true"])
    process.wait()
    check_refused(checks, "gone", process.pid, "does not exist")


def zombie(checks):
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    check_refused(checks, "zombie", process.pid, "has ended and waits for its parent")
    process.wait()


# Its main thread ends, another one goes on.
HEADLESS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("ready", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


def headless(checks):
    with lib.Target([e2e.real_python(), "-c", HEADLESS]) as target:
        lib.wait_for(lambda: lib.state(target.pid) == "Z")
        check_refused(checks, "no main thread", target.pid, "the main thread of process %d" % target.pid)
        checks.equal(target.process.poll(), None, "no main thread: it lives")


def exiting(checks):
    for number in range(10):
        process = subprocess.Popen(["sleep", "0.05"])
        time.sleep(0.04 + number * 0.002)
        # On a busy machine it may not have begun by then.
        lib.wait_for(lambda: lib.is_sleeping_as(process.pid, "sleep") or lib.state(process.pid) == "Z")
        done = lib.inject(process.pid, lib.VECTORS)
        checks.expect("answer" in done or "ended" in done.get("error", ""), "exiting: %s" % done)
        checks.equal(process.wait(), 0, "exiting: its status")


def kernel_thread(checks):
    if "kthreadd" not in lib.read("/proc/2/comm"):
        return checks.skip("kernel thread: none is seen here")
    check_refused(checks, "kernel thread", 2, "is a kernel thread")


def itself(checks):
    done = subprocess.run(["sh", "-c", "exec %s $$ %s" % (lib.TOOL, lib.VECTORS)], text=True,
                          capture_output=True)
    checks.expect("cannot attach to itself" in done.stdout, "itself: " + done.stdout)


def a_thread(checks):
    with lib.Target([e2e.real_python(), lib.HERE + "/busy.py", lib.LONG]) as target:
        time.sleep(0.2)
        other = [int(t) for t in os.listdir("/proc/%d/task" % target.pid) if int(t) != target.pid][0]
        check_refused(checks, "a thread", other, "is a thread of process %d" % target.pid)
        check_unharmed(checks, "a thread", target)


def stopped(checks):
    with SleepingTarget() as target:
        os.kill(target.pid, signal.SIGSTOP)
        lib.wait_for(lambda: lib.state(target.pid) == "T")
        check_refused(checks, "stopped", target.pid, "kill -CONT %d" % target.pid)
        check_unharmed(checks, "stopped", target)
        os.kill(target.pid, signal.SIGCONT)
        check_attaches(checks, "stopped, then continued", target)


def traced(checks):
    with SleepingTarget() as target:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        if libc.ptrace(0x4206, target.pid, None, None) != 0:  # PTRACE_SEIZE
            return checks.skip("traced: ptrace: " + os.strerror(ctypes.get_errno()))
        check_refused(checks, "traced", target.pid, "is traced by process %d" % os.getpid())
        check_unharmed(checks, "traced", target)
        target.process.kill()


# posix_spawn's child opens a pipe, and for so long its parent waits as after vfork.
SPAWNS = """
import os, sys, time
print("ready", flush=True)
opens = [(os.POSIX_SPAWN_OPEN, 5, sys.argv[1], os.O_RDONLY, 0)]
os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ, file_actions=opens), 0)
time.sleep(600)
"""


def in_vfork(checks):
    with e2e.Folder("attach") as folder:
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        with lib.Target([e2e.real_python(), "-c", SPAWNS, pipe]) as target:
            # By itself the state may be that of one that waits for the disk.
            lib.wait_for(lambda: children_of(target.pid) and lib.state(target.pid) == "D")
            check_refused(checks, "vfork", target.pid, "waiting for a vfork child")
            check_refused(checks, "child of vfork", inside(target.pid), "shares the memory of its parent")
            check_unharmed(checks, "vfork", target)
            with subprocess.Popen([lib.TOOL, str(target.pid), lib.VECTORS, lib.WORDS, *lib.PATIENT], text=True,
                                  stdout=subprocess.PIPE) as tool:
                time.sleep(0.2)
                os.close(os.open(pipe, os.O_WRONLY))
                checks.expect('"answer": 42' in tool.communicate()[0], "vfork: once it is over")


def compiled(folder, name, source, *options):
    path, code = os.path.join(folder, name), os.path.join(folder, name + ".S")
    with open(code, "w", encoding="utf-8") as file:
        file.write(source)
    compiler = shutil.which("cc") or shutil.which("gcc")
    done = compiler and subprocess.run([compiler, "-nostdlib", *options, "-o", path, code],
                                       capture_output=True)
    return path if done and done.returncode == 0 else None


# write(1, "ready\n", 6), then pause for ever
STATIC = """.globl _start
_start: mov $1, %eax
mov $1, %edi
lea text(%rip), %rsi
mov $6, %edx
syscall
1: mov $34, %eax
syscall
jmp 1b
text: .ascii "ready\\n"
"""
THIRTY_TWO = """.globl _start
_start: mov $4, %eax
mov $1, %ebx
mov $text, %ecx
mov $6, %edx
int $0x80
1: mov $29, %eax
int $0x80
jmp 1b
text: .ascii "ready\\n"
"""


def other_images(checks):
    rows = [("static", STATIC, ["-static"], "statically linked"),
            ("32-bit", THIRTY_TWO, ["-m32", "-static"], "is a 32-bit program"),
            ("a loader and no C library", STATIC, ["-pie"], "brings its own")]
    with e2e.Folder("attach") as folder:
        for name, source, options, message in rows:
            path = compiled(folder, name, source, *options)
            if path is None:
                checks.skip(name + ": no compiler makes one here")
                continue
            try:
                target = lib.Target([path])
            except OSError as failure:
                checks.skip("%s: %s" % (name, failure))
                continue
            with target:
                if target.first != "ready":
                    checks.skip(name + ": this kernel does not run it")
                    continue
                check_refused(checks, name, target.pid, message)
                checks.equal(target.process.poll(), None, name + ": it lives")


def as_nobody(command):
    return ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", *command]


def other_user(checks):
    if not IS_ROOT or not shutil.which("setpriv"):
        return checks.skip("other user: needs root and setpriv")
    with SleepingTarget(as_nobody(SLEEP)) as target:
        check_attaches(checks, "root attaches to nobody", target)
    with e2e.Folder("attach") as folder, SleepingTarget() as target:
        os.chmod(folder, 0o755)
        tool = shutil.copy(lib.TOOL, folder)
        library = shutil.copy(lib.VECTORS, folder)
        run = lambda pid: subprocess.run(as_nobody([tool, str(pid), library, lib.WORDS]),  # noqa: E731
                                         capture_output=True, text=True).stdout
        output = run(target.pid)
        checks.expect("belongs to another user" in output, "nobody attaches to root: " + output)
        check_unharmed(checks, "nobody attaches to root", target)
        with SleepingTarget(as_nobody(SLEEP)) as own:
            output = run(own.pid)
            if "ptrace_scope" in output:
                checks.skip("nobody attaches to nobody: " + output)
            else:
                checks.expect('"answer": 42' in output, "nobody attaches to nobody: " + output)


def not_dumpable(checks):
    if not IS_ROOT or not shutil.which("setpriv"):
        return checks.skip("not dumpable: needs root and setpriv")
    script = "import ctypes, time; ctypes.CDLL(None).prctl(%d, 0); print('ready', flush=True); " \
             "time.sleep(600)" % PR_SET_DUMPABLE
    with e2e.Folder("attach") as folder:
        os.chmod(folder, 0o755)
        tool = shutil.copy(lib.TOOL, folder)
        library = shutil.copy(lib.VECTORS, folder)
        with lib.Target(as_nobody(["/usr/bin/python3", "-c", script])) as target:
            if target.first != "ready":
                return checks.skip("not dumpable: nobody cannot run /usr/bin/python3")
            output = subprocess.run(as_nobody([tool, str(target.pid), library, lib.WORDS]),
                                    capture_output=True, text=True).stdout
            checks.expect("not dumpable" in output, "not dumpable: " + output)
            check_unharmed(checks, "not dumpable", target)
            check_attaches(checks, "root attaches to one that is not dumpable", target)
    return None


def filtered(checks):
    if not seccomp.supported():
        return checks.skip("seccomp: not possible here")
    with SleepingTarget(preexec_fn=seccomp.deny(seccomp.PERF_EVENT_OPEN, errno.EPERM)) as target:
        check_refused(checks, "seccomp", target.pid, "--ignore-seccomp")
        check_unharmed(checks, "seccomp", target)
        check_attaches(checks, "seccomp, ignored", target, arguments=["--ignore-seccomp"])
    with SleepingTarget(preexec_fn=seccomp.deny(MEMFD_CREATE, errno.EPERM)) as target:
        check_attaches(checks, "memfd denied: by a file", target, arguments=["--ignore-seccomp"])
        checks.expect(not [n for n in os.listdir("/tmp") if n.startswith(".gpuprof-%d-" % target.pid)],
                      "memfd denied: the file is gone")
    script = "import errno, seccomp, time; seccomp.deny(%d, errno.EPERM)(); " \
             "print('ready', flush=True); time.sleep(600)" % OPENAT
    with lib.Target([sys.executable, "-c", script]) as target:
        done = lib.inject(target.pid, lib.VECTORS, arguments=["--ignore-seccomp"])
        checks.expect("cannot open shared object file" in done.get("error", ""), "open denied: %s" % done)
        check_unharmed(checks, "open denied", target)
    return None


def twice_at_once(checks):
    with lib.Target([lib.TARGET, "vectors", lib.LONG]) as target:
        environment = dict(os.environ, GPUPROF_ATTACH_STOP_AT="mapped")
        first = subprocess.Popen([lib.TOOL, str(target.pid), lib.VECTORS, lib.WORDS, *lib.PATIENT], env=environment,
                                 stdout=subprocess.PIPE, text=True)
        os.waitpid(first.pid, os.WUNTRACED)
        check_refused(checks, "two at once", target.pid, "is traced by process %d" % first.pid,
                      library=lib.VECTORS)
        first.send_signal(signal.SIGCONT)
        checks.expect('"answer": 42' in first.communicate()[0], "two at once: the first")
        check_attaches(checks, "after it", target)
        check_refused(checks, "another build", target.pid, "another build of the gpuprof library",
                      library=e2e.LIBRARY)
        status, last = target.finish()
        checks.expect(status == 0, "two at once: its end: " + last)


def unshared(options, command):
    return ["unshare", *options, *command]


def namespaces(checks):
    if not IS_ROOT or subprocess.run(unshared(["-m", "-p", "-f"], ["true"]),
                                     capture_output=True).returncode != 0:
        return checks.skip("namespaces: cannot be made here")
    # The library's folder is not there, and the pid is another.
    script = "mount -t tmpfs none %s && %s echo ready && exec sleep 600"
    for name, proc in (("with its own /proc", "mount -t proc none /proc &&"),
                       ("with a /proc of another pid namespace", "")):
        command = unshared(["-m", "-p", "-f", "--propagation", "private"],
                           ["sh", "-c", script % (lib.FOLDER, proc)])
        with lib.Target(command) as target:
            child = inside(target.pid)
            lib.wait_for(lambda: lib.is_sleeping_as(child, "sleep"))
            done = lib.inject(child, lib.VECTORS)
            checks.equal(done.get("answer"), 42, "namespaces %s: %s" % (name, done))
            os.kill(child, signal.SIGKILL)
    return None


def children_of(pid):
    return [int(word) for word in lib.read("/proc/%d/task/%d/children" % (pid, pid)).split()]


def inside(pid):
    """The process at the end of a chain of single children."""
    lib.wait_for(lambda: children_of(pid))
    found = pid
    while children_of(found):
        found = children_of(found)[0]
    return found


def chroot(checks):
    if not IS_ROOT or not shutil.which("chroot"):
        return checks.skip("chroot: needs root")
    with e2e.Folder("attach") as folder:
        root = os.path.join(folder, "root")
        libraries = subprocess.run(["ldd", lib.TARGET], capture_output=True, text=True).stdout
        for word in [w for w in libraries.split() if w.startswith("/")]:
            os.makedirs(root + os.path.dirname(word), exist_ok=True)
            shutil.copy(word, root + word)
        shutil.copy(lib.TARGET, root)
        command = ["chroot", root, "/attach_target", "state", lib.LONG]
        with lib.Target(command) as target:
            os.chmod(root, stat.S_IRUSR | stat.S_IXUSR)
            check_attaches(checks, "chroot without /proc: by a file", target)
            checks.expect(not [n for n in os.listdir(root) if n.startswith(".gpuprof")],
                          "chroot: the file is gone")
    return None


def deleted_libc(checks):
    """The loader and C library are gone from the disk, as after an upgrade."""
    with e2e.Folder("attach") as folder:
        libraries = subprocess.run(["ldd", lib.TARGET], capture_output=True, text=True).stdout
        for word in [w for w in libraries.split() if w.startswith("/")]:
            shutil.copy(word, folder)
        loader = [n for n in os.listdir(folder) if n.startswith("ld-linux")]
        if not loader:
            return checks.skip("deleted libc: ldd names no loader")
        command = [os.path.join(folder, loader[0]), "--library-path", folder, lib.TARGET, "state", lib.LONG]
        with lib.Target(command) as target:
            for name in os.listdir(folder):
                if "libstdc++" not in name and "libgcc" not in name:
                    os.remove(os.path.join(folder, name))
            check_attaches(checks, "deleted libc", target)
            status, last = target.finish()
            checks.equal(status, 0, "deleted libc: its end: " + last)
    return None


CASES = [gone, zombie, headless, exiting, kernel_thread, itself, a_thread, stopped, traced, in_vfork,
         other_images, other_user, not_dumpable, filtered, twice_at_once, namespaces, chroot, deleted_libc]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    only = parser.parse_args().only
    lib.require_attach()
    checks = e2e.Checks()
    for case in CASES:
        if only in (None, case.__name__):
            case(checks)
    checks.done()


main()
