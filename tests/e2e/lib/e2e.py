# SPDX-License-Identifier: Apache-2.0
"""What every end-to-end test needs: the paths of the build, running gpuprof, reading traces, checks."""

import ctypes
import glob
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("GPUPROF_SOURCE") or os.path.abspath(
    os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("GPUPROF_BUILD") or os.path.join(SOURCE, "build", "release")
GPUPROF = os.path.join(BUILD, "bin", "gpuprof")
GPUPROFD = os.path.join(BUILD, "bin", "gpuprofd")
LIBRARY = os.path.join(BUILD, "lib", "libgpuprof_inject.so")
SIMGPU = os.path.join(BUILD, "simgpu", "bin")
ALL_FORMATS = ("tensorboard", "kineto", "xplane", "tfevents", "perfetto", "pprof", "speedscope", "folded",
               "sqlite", "csv")
# Added to every `gpuprof run` of a test: the tests of endings run once more with all
# formats on.
FORMAT_OPTION = ["--format", ",".join(ALL_FORMATS)] if os.environ.get("GPUPROF_TEST_ALL_FORMATS") else []

# Ignored by whatever a shell starts in the background, and so by all that this test starts: as at a terminal.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
# The two that the C library keeps for itself are ignored by whatever its posix_spawn starts, `make` for one. Only a bare
# system call sets them.
for number in (32, 33):
    ctypes.CDLL(None).syscall({"x86_64": 13, "aarch64": 134}[os.uname().machine], number, bytes(64), None, 8)


def skip(reason):
    """Ends the whole test as skipped."""
    print("SKIPPED: " + reason)
    sys.exit(77)


class Folder:
    """A temporary folder that is kept if the test fails or a check inside the block does."""

    def __init__(self, name):
        self.path = tempfile.mkdtemp(prefix="gpuprof-e2e-%s-" % name)
        self.failed_before = Checks.failed_in_total

    def __enter__(self):
        return self.path

    def __exit__(self, kind, value, trace):
        failed = Checks.failed_in_total != self.failed_before
        if not failed and (kind is None or (kind is SystemExit and not value.code)):
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            print("kept: " + self.path, file=sys.stderr)


class SmallDisk:
    """A file system of so many KiB at a path; `path` is None where none can be mounted here."""

    def __init__(self, path, kib):
        os.mkdir(path)
        result = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % kib, "tmpfs", path],
                                capture_output=True)
        self.path = path if result.returncode == 0 else None

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        if self.path:
            subprocess.run(["umount", self.path])


def sanitized():
    """Whether command and daemon are those of a sanitizer build."""
    try:
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
            return re.search(r"^GPUPROF_SANITIZE:\w+=\w", file.read(), re.MULTILINE) is not None
    except OSError:
        return False


def real_python(name="python3"):
    """The interpreter itself, not a shim script in front of it; also from a pyenv's versions."""
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    version = name[len("python"):]
    candidates = [shutil.which(name)] + sorted(
        glob.glob(os.path.join(root, "versions", version + ".*", "bin", name)))
    for found in filter(None, candidates):
        try:
            path = subprocess.run([found, "-c", "import sys; print(sys.executable)"],
                                  capture_output=True, text=True, timeout=600).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            continue
        if path:
            return path
    return None


def gpuprof(arguments, command, **keywords):
    """Runs `gpuprof run ARGUMENTS -- COMMAND`; returns the CompletedProcess (bytes)."""
    keywords.setdefault("timeout", PATIENCE_S)
    keywords.setdefault("stdout", subprocess.PIPE)
    keywords.setdefault("stderr", subprocess.PIPE)
    keywords.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([GPUPROF, "run", *FORMAT_OPTION, *arguments, "--", *command], **keywords)


def traces(folder):
    """Paths of the finished trace files in a folder, in name order; none that is being written."""
    return sorted(path for path in glob.glob(os.path.join(folder, "*.pt.trace.json*")) if not path.endswith(".part"))


def raise_priority():
    """Raises the scheduling priority of this process and its children, where that is permitted."""
    try:
        os.setsid()
    except PermissionError:
        pass  # leads one already
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write("-20")
    except OSError:
        pass


def written(folder):
    """Paths of all files below a folder, whatever their format, but hidden ones."""
    return sorted(path for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True)
                  if os.path.isfile(path))


def open_trace(path):
    """One trace's text."""
    opener = gzip.open if path.endswith(".gz") else open
    return opener(path, "rt", encoding="utf-8")


def load(path):
    """One trace as parsed JSON."""
    with open_trace(path) as file:
        return json.load(file)


# How long a test waits for what is certain to come: a busy machine takes many times what a quiet one does.
PATIENCE_S = 600
# Set for the tests with label long, each of which is repeated if nothing else failed (repeat.py).
ENFORCE_TIME = os.environ.get("GPUPROF_TEST_TIME") == "1"
# Exit status of a test in which nothing failed but Checks.in_time().
TOO_SLOW = 75


class Checks:
    """Counts checks; done() prints the counts and exits with the status."""

    failed_in_total = 0  # of all instances

    def __init__(self):
        self.passed = self.failed = self.skipped = self.too_slow = 0

    def expect(self, condition, message):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            Checks.failed_in_total += 1
            print("FAILED: " + message)
        return condition

    def in_time(self, condition, message):
        """A check of how fast or how evenly the machine runs: enforced only with GPUPROF_TEST_TIME=1, else printed."""
        if condition:
            self.passed += ENFORCE_TIME
        elif ENFORCE_TIME:
            self.too_slow += 1
            print("TOO SLOW: " + message)
        else:
            print("too slow, which is not judged here: " + message)
        return condition

    def equal(self, got, expected, message):
        return self.expect(got == expected, "%s: got %r, wanted %r" % (message, got, expected))

    def skip(self, message):
        self.skipped += 1
        print("SKIPPED: " + message)

    def done(self):
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed + self.too_slow, self.skipped))
        sys.exit(1 if self.failed else TOO_SLOW if self.too_slow else 0)
