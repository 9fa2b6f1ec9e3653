# SPDX-License-Identifier: Apache-2.0
"""Programs under `gpuprof run --serve`, and the processes and folders that belong to it."""

import atexit
import glob
import os
import shutil
import socket
import sys
import tempfile

import e2e
import live

VENVS = os.environ.get("GPUPROF_VENVS") or os.path.join(e2e.SOURCE, ".venvs")


def reexec_with(module, *names):
    """Re-executes the test with the first environment that has the module; skips the test if none has. What is left in
    TMPDIR is then this test's."""
    try:
        __import__(module)
        os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="gpuprof-e2e-")
        atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)
        return
    except ImportError:
        pass
    for name in names:
        folder = os.path.join(VENVS, name)
        if glob.glob(os.path.join(folder, "lib", "python3*", "site-packages", module)):
            python = os.path.join(folder, "bin", "python")
            os.execv(python, [python] + sys.argv)
    e2e.skip("no %s under %s: run scripts/setup --viewers" % (module, VENVS))


def free_port(host="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
        one.bind((host, 0))
        return one.getsockname()[1]


class ServedProgram(live.Program):
    """`gpuprof run --serve PORT MORE -- COMMAND`; the command prints its process id first."""

    def __init__(self, command, *more, **keywords):
        self.port = free_port()
        self.address = "127.0.0.1:%d" % self.port
        super().__init__(live.prefix("--serve", str(self.port), *more) + command, **keywords)


def child_of(pid, name):
    """The process of that name below another; None: there is none."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if found == name and int(rest.split()[1]) == pid:
            return int(path.split("/")[2])
    return None


def helper_of(pid):
    """The gpuprof-serve of a `gpuprof`."""
    return child_of(pid, "gpuprof-serve")


def capture_of(helper):
    """The `gpuprof capture` of a gpuprof-serve."""
    return child_of(helper, "gpuprof")


def leftover_folders():
    """Folders of recordings that were not removed."""
    return glob.glob(os.path.join(tempfile.gettempdir(), "gpuprof-serve-*"))


def armed_processes(name):
    """Armed processes of that --name: rows of `gpuprof status`."""
    return [row for row in live.status().values() if (row["name"], row["state"]) == (name, "armed")]
