# SPDX-License-Identifier: Apache-2.0
"""Processes in other mount, pid and network namespaces, and of another user, are found, recorded, attached to
and detached."""

import os
import shutil
import signal
import socket
import subprocess
import time

import e2e
import live
import windows

SPACES = (
    ("mount", ["-m"], live.MOUNT_OWN_CONTROL_FOLDER),
    ("pid", ["-p", "-f", "--mount-proc"], "true"),
    ("network", ["-n"], "true"),
    ("every", ["-m", "-n", "-i", "-u", "-p", "-f", "--mount-proc"], live.MOUNT_OWN_CONTROL_FOLDER),
)


def why_impossible():
    if os.getuid() != 0:
        return "needs root"
    if not shutil.which("unshare"):
        return "needs unshare(1)"
    for _, flags, setup in SPACES:
        done = subprocess.run(["unshare", *flags, "sh", "-c", setup], capture_output=True, text=True)
        if done.returncode != 0:
            return "unshare %s: %s" % (" ".join(flags), done.stderr.strip())
    return ""


class NamespacedProgram:
    """The busy program in a namespace of its own, and its process id as we see it."""

    def __init__(self, flags, setup, env=None):
        # The shell must not be armed itself: it would be another process of that name.
        script = setup + ' && exec env "$@"'
        words = ["%s=%s" % item for item in (env or {}).items()]
        self.program = live.Program(["unshare", *flags, "sh", "-c", script, "sh", *words, *live.busy()])
        self.inner = self.program.pid
        self.pid = self.program.process.pid
        if "-f" in flags:
            with open("/proc/%d/task/%d/children" % (self.pid, self.pid), encoding="ascii") as file:
                self.pid = int(file.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        live.signal_if_alive(self.pid, signal.SIGKILL)
        self.program.pid = self.program.process.pid
        self.program.__exit__()


def variables(name):
    return dict(line.split("=", 1) for line in live.cli("env", "--name", name).stdout.splitlines())


def armed(checks, folder, space, flags, setup):
    with NamespacedProgram(flags, setup, variables("in-" + space)) as inside:
        row = live.wait_until_armed(inside.pid)
        if not checks.expect(row, "%s: status finds the armed process" % space):
            return
        checks.equal(row["name"], "in-" + space, "%s: its name" % space)
        for number, target in enumerate((inside.pid, "in-" + space)):
            done = windows.cli("capture", target, "-d", "400ms", "-o", os.path.join(folder, str(number)))
            paths = done.stdout.split()
            if not checks.equal((done.returncode, len(paths)), (0, 1), "%s: capture %s: %s" % (space, target, done.stderr)):
                continue
            checks.expect(live.sample_count(paths[0]) > 0, "%s: has stacks: %r" % (space, live.head(paths[0])["threads"]))
            names = {event.get("name") for event in e2e.load(paths[0])["traceEvents"]}
            checks.expect(any("work" in str(name) for name in names), "%s: with names" % space)
        checks.expect(live.wait_until_armed(inside.pid), "%s: armed again" % space)


def crowded(checks):
    """Of a process elsewhere only the answer tells the id: who finds no place at its control socket waits for one."""
    with NamespacedProgram(["-m"], live.MOUNT_OWN_CONTROL_FOLDER, variables("crowded")) as inside:
        live.wait_until_armed(inside.pid)
        (control_socket,) = live.control_socket_files(inside.inner, "/proc/%d/root" % inside.pid)
        os.kill(inside.pid, signal.SIGSTOP)
        live.wait_for(lambda: live.thread_states(inside.pid) == {"T"})
        waiting = []
        try:
            for _ in range(100):
                waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
                waiting[-1].connect(control_socket)
        except BlockingIOError:
            pass
        stopped = live.cli("stop", inside.pid)
        checks.expect("its control socket" in stopped.stderr, "found by its id: %d, %s" % (stopped.returncode, stopped.stderr))
        checks.equal(live.status().get(inside.pid, {}).get("state"), "no answer", "listed where nobody finds a place")
        status_command = subprocess.Popen([e2e.GPUPROF, "status"], stdout=subprocess.PIPE, text=True)
        time.sleep(0.2)
        os.kill(inside.pid, signal.SIGCONT)
        for one in waiting:
            one.close()
        checks.expect(len(waiting) < 100 and "crowded" in status_command.communicate(timeout=e2e.PATIENCE_S)[0], "found at a crowded control socket")


def attached(checks, folder, space, flags, setup):
    with NamespacedProgram(flags, setup) as inside:
        before = live.threads(inside.pid), live.descriptors(inside.pid)
        done = windows.cli("attach", inside.pid, "-d", "400ms", "-o", os.path.join(folder, "attach"))
        paths = done.stdout.split()
        if checks.equal((done.returncode, len(paths)), (0, 1), "%s: attach: %s" % (space, done.stderr)):
            checks.expect(live.sample_count(paths[0]) > 0, "%s: attach has stacks: %r" % (space, live.head(paths[0])["threads"]))
        live.wait_for(lambda: (live.threads(inside.pid), live.descriptors(inside.pid)) == before, live.DETACH_TIMEOUT_S)
        checks.equal((live.threads(inside.pid), live.descriptors(inside.pid)), before, "%s: afterwards" % space)
        checks.equal(live.control_socket_files(inside.inner, "/proc/%d/root" % inside.pid), [], "%s: its control socket" % space)


def of_another_user(checks, folder):
    """Root records anybody; who is not root only his own."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    try:
        if subprocess.run(nobody + ["test", "-r", e2e.LIBRARY, "-a", "-x", e2e.GPUPROF]).returncode != 0:
            return checks.skip("another user may not read " + e2e.BUILD)
    except OSError:
        return checks.skip("needs setpriv(1)")
    with live.Program(nobody + live.busy(), env=dict(os.environ, **variables("other"))) as other, \
            live.Program(live.prefix("--armed") + live.busy()) as own:
        row = live.wait_until_armed(other.pid)
        checks.equal(row and row["name"], "other", "root finds a process of another user")
        done = windows.cli("capture", other.pid, "-d", "400ms", "-o", os.path.join(folder, "capture"))
        checks.equal((done.returncode, len(done.stdout.split())), (0, 1), "and records it: " + done.stderr)
        live.wait_until_armed(own.pid)
        done = subprocess.run(nobody + [e2e.GPUPROF, "capture", str(own.pid)], capture_output=True, text=True, cwd="/")
        checks.equal((done.returncode, done.stdout, done.stderr.count("\n")), (125, "", 1), "not the other way round")
        checks.expect(live.wait_until_armed(own.pid), "which leaves it as it is")
        checks.expect("belongs to another user" in done.stderr, done.stderr)


def main():
    why_not = why_impossible()
    if why_not:
        e2e.skip(why_not)
    checks = e2e.Checks()
    crowded(checks)
    for space, flags, setup in SPACES:
        for case in (armed, attached):
            with e2e.Folder("namespaces") as folder:
                case(checks, folder, space, flags, setup)
    with e2e.Folder("namespaces") as folder:
        of_another_user(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
