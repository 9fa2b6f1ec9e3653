# SPDX-License-Identifier: Apache-2.0
"""Every kind of bad input and fault: the command, its exit status, and the message gpuprof prints.

usage: rows.py [--only REGEX]   two lines a row; fails if a status is wrong or nothing is reported"""

import glob
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys

for suite in ("lib", "kill", "hostile"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", suite))
import e2e  # noqa: E402
import sim  # noqa: E402
from faults_test import CUPTI_ROWS  # noqa: E402
from hostile_test import SCRIBBLER, session as hostile_session  # noqa: E402
from kill_test import daemon_of, trainer_of  # noqa: E402
from memory_group import MemoryGroup  # noqa: E402
from spools import filled_spool_of  # noqa: E402

UNCHANGED = os.path.join(e2e.BUILD, "unchanged")
GROW = os.path.join(e2e.BUILD, "kill", "kill_grow")
FAKE_DAEMON = os.path.join(e2e.SOURCE, "tests", "fakes", "fake_daemon.py")
TRAIN = ["--steps", "8", "--kernels", "10", "--host-ms", "5", "--step-ms", "20"]
LONG = ["--forever", "--kernels", "10", "--host-ms", "5", "--step-ms", "20"]
QUIET = dict(os.environ, GPUSIM_QUIET="1")
# Lines of a summary that speak of a fault, not of what this short program happens not to do.
REMARKABLE = "missing: (?!no |1 record)|failed:|note:|recover|dropped by|invalid times|missing: no GPU"
UNPROFILED = "unprofiled"

# Found before the program starts: name, words of `gpuprof`, status.
BAD_WORDS = [
    ("no program", ["run"], 125),
    ("no command", ["rum", "true"], 125),
    ("option unknown", ["run", "--no-such", "true"], 125),
    ("option without value", ["run", "--wait"], 125),
    ("number: not one", ["run", "--wait", "five", "true"], 125),
    ("number: negative", ["run", "--wait=-1", "true"], 125),
    ("number: nothing active", ["run", "--active", "0", "true"], 125),
    ("number: too large", ["run", "--active", "99999999999999999999", "true"], 125),
    ("number: rate", ["run", "--rate", "2000", "true"], 125),
    ("unit: unknown", ["run", "--wait", "5h", "true"], 125),
    ("unit: unknown size", ["run", "--max-size", "5Q", "true"], 125),
    ("mix: steps and time", ["run", "--wait", "5", "--active", "1s", "true"], 125),
    ("mix: delay and wait", ["run", "--delay", "1s", "--wait", "2s", "true"], 125),
    ("pattern: unknown letter", ["run", "-o", "a%x.pt.trace.json", "true"], 125),
    ("pattern: unfinished", ["run", "-o", "a%q{HOME.pt.trace.json", "true"], 125),
    ("regular expression", ["run", "--step", "kernel:[", "true"], 125),
    ("word: step", ["run", "--step", "bogus", "true"], 125),
    ("word: format", ["run", "--format", "pdf", "true"], 125),
    ("word: source", ["run", "--trace", "gpu", "true"], 125),
    ("word: sampler", ["run", "--sampler", "perl", "true"], 125),
    ("word: keep", ["run", "--keep", "middle:2", "true"], 125),
    ("output: not writable", ["run", "-o", "/proc/none", "true"], 125),
    ("summary: not writable", ["run", "--summary-json", "/no/such/file", "true"], 125),
    ("daemon: not there", ["run", "--daemon", "/no/such", "true"], 125),
    ("program not found", ["run", "no-such-program"], 127),
    ("program not found, path", ["run", "/no/such/program"], 127),
    ("program is a folder", ["run", "/usr"], 126),
]


class Rows:
    """Prints rows and counts the wrong ones."""

    def __init__(self, only):
        self.only, self.checks = re.compile(only), e2e.Checks()

    def selects(self, name):
        return self.only.search(name) is not None

    def show(self, name, command, status, wanted, message, words=None):
        """One row; `words` picks the lines of stderr that are about it, else the first is."""
        lines = [line for line in message.splitlines() if line.startswith("gpuprof")]
        if words:
            lines = [line for line in lines if re.search(words, line)] or lines
        print("%-24s status %-4s %s" % (name, status, short(command)))
        for line in lines[:2] or ["(nothing)"]:
            print("    " + line[:400])
        self.checks.equal(status, wanted, name + ": status")
        self.checks.expect(lines, "%s: a message: %s" % (name, message[-600:]))

    def run(self, name, words, wanted, pick=None, prefix=(), **keywords):
        done = subprocess.run([*prefix, e2e.GPUPROF, *words], capture_output=True, timeout=600,
                              stdin=subprocess.DEVNULL, **keywords)
        self.show(name, ["gpuprof", *words], done.returncode, wanted, done.stderr.decode(), pick)


def short(command):
    """The command with our own paths cut to their last part."""
    return shlex.join(os.path.basename(w) if w.startswith(e2e.BUILD) or "gpuprof-e2e" in w else w
                      for w in command)[:150]


def programs(rows, folder):
    out = ["run", "-o", os.path.join(folder, "out")]
    plain = os.path.join(folder, "not-executable")
    open(plain, "w", encoding="utf-8").close()
    rows.run("not executable", [*out, plain], 126)
    rows.run("static", [*out, os.path.join(UNCHANGED, "static_hello")], 7, UNPROFILED)
    if os.path.exists(os.path.join(UNCHANGED, "hello32")):
        rows.run("32-bit", [*out, os.path.join(UNCHANGED, "hello32")], 7, UNPROFILED)
    rows.run("sanitizer", [*out, os.path.join(UNCHANGED, "asan")], 4, UNPROFILED)
    if os.geteuid() != 0:
        return rows.checks.skip("setuid: only root can give a program away")
    raised = os.path.join(folder, "setuid")
    shutil.copy("/bin/true", raised)
    os.chown(raised, 65534, 65534)
    os.chmod(raised, 0o755 | stat.S_ISUID)
    rows.run("setuid", [*out, raised], 0, UNPROFILED)


def outputs(rows, folder):
    taken = os.path.join(folder, "fixed.pt.trace.json")
    open(taken, "w", encoding="utf-8").close()
    rows.run("output: file in the way", ["run", "-o", taken, "true"], 125)
    small = os.path.join(folder, "small")
    with e2e.SmallDisk(small, 256) as mounted:
        if not mounted:
            return rows.checks.skip("disk full: no small file system can be mounted here")
        command = sim.simulated(["--steps", "300", "--kernels", "200", "--host-ms", "0"])
        rows.run("disk full", ["run", "-o", os.path.join(small, "out"), "--step", "nvtx:step", "--",
                               *command], 0, "[Ss]pace|full|recover", env=QUIET)


def daemons(rows, folder):
    for how, wanted in (("dies", 125), ("refuses", 125), ("old", 125), ("garbage", 125),
                        ("dies-later", 4), ("nonsense", 4)):
        rows.run("daemon: " + how, ["run", "--daemon", FAKE_DAEMON, "-o", os.path.join(folder, how),
                                    "sh", "-c", "sleep 0.3; exit 4"], wanted,
                 env=dict(os.environ, FAKE_DAEMON=how))
    for strict in ([], ["--strict"]):
        marker = "rows-%d-%d" % (os.getpid(), len(strict))
        words = ["run", *strict, "-o", os.path.join(folder, "killed%d" % len(strict)), "--",
                 "sh", "-c", '"$@"; exit 0', "sh", *sim.simulated(LONG)]
        process = subprocess.Popen([e2e.GPUPROF, *words], env=dict(QUIET, GPUPROF_TEST_MARKER=marker),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        daemon = daemon_of(marker.encode())
        trainer = trainer_of(process)
        filled_spool_of(words[words.index("-o") + 1])
        os.kill(daemon, signal.SIGKILL)
        os.kill(trainer, signal.SIGTERM)
        message = process.communicate(timeout=e2e.PATIENCE_S)[1].decode()
        rows.show("daemon killed" + (" (strict)" if strict else ""), ["gpuprof", *words],
                  process.returncode, 125 if strict else 0, message, "daemon|gpuprofd|recover")


def deaths(rows, folder):
    words = ["run", "-o", os.path.join(folder, "kill"), "sh", "-c", "sleep 0.3; kill -KILL $$"]
    rows.run("killed: SIGKILL", words, -signal.SIGKILL)
    rows.run("killed: SIGSEGV", ["run", "-o", os.path.join(folder, "segv"),
                                 os.path.join(UNCHANGED, "crash")], -signal.SIGSEGV)
    with MemoryGroup("gpuprof-rows", 128 << 20) as group:
        if group is None:
            return rows.checks.skip("killed: out of memory: no memory cgroup can be made here")
        rows.run("killed: out of memory", ["run", "-o", os.path.join(folder, "oom"), "sh", "-c",
                                           group.shell() + " && exec " + GROW], -signal.SIGKILL)


def without_toolkits():
    """Words in front of a command that hide installed CUDA toolkits from it: with --no-cupti the real
    CUPTI would be found there. None where that cannot be done."""
    roots = sorted({os.path.realpath(root) for root in glob.glob("/usr/local/cuda*")})
    if not roots:
        return []
    script = "for root in %s; do mount -t tmpfs tmpfs \"$root\" || exit 1; done; " \
             "exec \"$@\"" % shlex.join(roots)
    prefix = ["unshare", "-m", "sh", "-c", script, "sh"]
    possible = shutil.which("unshare") and subprocess.run([*prefix, "true"],
                                                           capture_output=True).returncode == 0
    return prefix if possible else None


def cupti(rows, folder):
    more = [("driver-stub", ["--stub"], 1), ("driver-missing", ["--no-driver"], 127)]
    for name, sim_args, wanted in [(row[0], row[1], 0) for row in CUPTI_ROWS] + more:
        if not rows.selects("CUPTI: " + name):
            continue
        prefix = without_toolkits() if name in ("cupti-missing", "cupti-symbol-missing") else []
        if prefix is None:
            rows.checks.skip("CUPTI: %s: installed toolkits cannot be hidden here" % name)
            continue
        plain = sim.run_plain(TRAIN, sim_args).returncode
        if plain != wanted:
            wanted = plain  # what the program does without gpuprof is what counts
        rows.run("CUPTI: " + name, ["run", "-o", os.path.join(folder, name), "--step", "nvtx:step", "--",
                                    *sim.simulated(TRAIN, sim_args)], wanted,
                 REMARKABLE, prefix=prefix, env=QUIET)


def malformed(rows, folder):
    if not os.path.exists(SCRIBBLER):
        return rows.checks.skip("malformed ring buffer bytes: not built: " + SCRIBBLER)
    done, _ = hostile_session(folder, 2, 3, "random,lengths,racing")
    rows.show("malformed ring buffer bytes", ["gpuprof", "run", "--all-processes", "sh", "-c",
                                       "sim_trainer & hostile_scribbler 2 3 random,lengths,racing"],
              done.returncode, 0, done.stderr.decode(), "drops|damaged")


def several(rows, folder):
    words = [["run", "-o", os.path.join(folder, str(i)), "--", *sim.simulated(TRAIN)] for i in range(2)]
    both = [subprocess.Popen([e2e.GPUPROF, *w], env=QUIET, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE) for w in words]
    for i, process in enumerate(both):
        message = process.communicate(timeout=e2e.PATIENCE_S)[1].decode()
        rows.show("two at once: %d" % (i + 1), ["gpuprof", *words[i]], process.returncode, 0, message)
    nested = [e2e.GPUPROF, "run", "-o", os.path.join(folder, "inner"), "sh", "-c", "exit 6"]
    rows.run("nested", ["run", "-o", os.path.join(folder, "outer"), *nested], 6, "inside another|session")


GROUPS = [("not executable|static|32-bit|sanitizer|setuid", programs), ("output: file|disk full", outputs),
          ("daemon: |daemon killed", daemons), ("killed: ", deaths), ("CUPTI: ", cupti),
          ("malformed", malformed), ("two at once|nested", several)]


def main():
    sim.require_build()
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    rows = Rows(only)
    for name, words, wanted in BAD_WORDS:
        if rows.selects(name):
            with e2e.Folder("rows") as folder:
                rows.run(name, words, wanted, cwd=folder)
    for names, body in GROUPS:
        if only == "" or re.search(only, names):
            with e2e.Folder("rows") as folder:
                body(rows, folder)
    rows.checks.done()


if __name__ == "__main__":
    main()
