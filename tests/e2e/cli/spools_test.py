# SPDX-License-Identifier: Apache-2.0
"""`gpuprof export` on spools that are damaged, not there or not to be read; a full disk."""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys

import e2e
from spools import daemon_of, filled_spool_of

PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable
SPIN = "import time\nend = time.time() + %s\nwhile time.time() < end: sum(range(1000))"
# Samples, however slow the machine is.
COMPUTES = "import time\nwhile time.thread_time() < %s: sum(range(1000))"
UNTIL = "import os, sys\nwhile not os.path.exists(sys.argv[1]): sum(range(1000))"
# Each function has a name and a file of its own: nothing packs well.
MANY_STACKS = """import os, time
while time.thread_time() < 2:
    name = "f" + os.urandom(1500).hex()
    scope = {}
    exec(compile("def %s():\\n  sum(range(50000))" % name, name, "exec"), scope)
    scope[name]()
"""
NOBODY = 65534


def export(*arguments, prefix=()):
    done = subprocess.run([*prefix, e2e.GPUPROF, "export", *arguments], capture_output=True, timeout=e2e.PATIENCE_S)
    return done.returncode, done.stderr.decode()


def spool_left_behind(folder):
    """The spool of a run whose daemon and gpuprof were killed."""
    out = os.path.join(folder, "killed")
    process = subprocess.Popen([e2e.GPUPROF, "run", "-o", out, PYTHON, "-c", SPIN % 600],
                               stderr=subprocess.PIPE, start_new_session=True)
    spool = filled_spool_of(out)
    process.kill()
    os.kill(daemon_of(spool), signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=e2e.PATIENCE_S)
    return spool


def changed(folder, spool, name, change):
    """A copy of the spool with one file rewritten."""
    copy = os.path.join(folder, name)
    shutil.copytree(spool, copy)
    path = glob.glob(os.path.join(copy, "*.spool"))[0] if name.startswith("records") else os.path.join(
        copy, "session.jsonl")
    with open(path, "rb") as file:
        data = file.read()
    data = change(data)
    os.remove(path)
    if data is not None:
        with open(path, "wb") as file:
            file.write(data)
    return copy


def refused(checks, folder, spool):
    cases = [
        ("log-gone", lambda data: None, "its session.jsonl is gone"),
        ("log-empty", lambda data: b"", "is empty"),
        ("log-cut", lambda data: data[:20], "ends inside its first line"),
        ("log-garbled", lambda data: b"{oops\n" + data, "is damaged at line 1"),
        ("log-foreign", lambda data: b'{"a":1}\n', "does not begin like a session log of gpuprof"),
        ("log-version", lambda data: data.replace(b'"version":', b'"version":9', 1), "has spool version 9"),
        ("records-version", lambda data: data[:8] + b"\x63" + data[9:], "has spool version 99"),
        ("records-foreign", lambda data: b"x" * len(data), "is not a gpuprof spool file"),
        ("records-none", lambda data: data[:16], "no process in it recorded any event"),
    ]
    messages = set()
    for name, change, part in cases:
        copy = changed(folder, spool, name, change)
        status, text = export("-o", os.path.join(folder, "none"), copy)
        checks.equal((status, text.count("\n")), (125, 1), "%s: %s" % (name, text))
        checks.expect(part in text and "recover with" not in text, "%s says %s" % (name, text))
        messages.add(text.replace(copy, ""))
    checks.equal(len(messages), len(cases), "no two messages are the same")
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    for path, part in [(os.path.join(folder, "nowhere"), "no such file or folder"),
                       (empty, "contains no gpuprof session and no trace")]:
        status, text = export(path)
        checks.equal((status, text.count("\n")), (125, 1), "%s: %s" % (path, text))
        checks.expect(part in text, "%s says %s" % (path, text))


def found_from_nearby(checks, folder, spool):
    """The log of a session, and the folder its spool lies in, stand for it."""
    for number, path in enumerate([os.path.join(spool, "session.jsonl"), os.path.dirname(spool)]):
        out = os.path.join(folder, "nearby-%d" % number)
        status, text = export("-o", out, path)
        checks.equal(status, 0, "%s: %s" % (path, text))
        checks.equal(len(e2e.traces(out)), 1, "%s: a file" % path)


def damaged_records(checks, folder, spool):
    def flipped(data):
        at = len(data) - 40
        return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1:]
    for name, change, part in [("records-cut", lambda data: data[:-7], "its spool ends in an incomplete block"),
                               ("records-flipped", flipped, "the end of its spool is damaged")]:
        out = os.path.join(folder, name + "-out")
        status, text = export("-o", out, changed(folder, spool, name, change))
        checks.equal(status, 0, "%s: what is whole is exported: %s" % (name, text))
        checks.expect(part in text and "recover with" not in text, "%s says %s" % (name, text))
        checks.equal(len(e2e.traces(out)), 1, "%s: a file" % name)


def unreadable(checks, folder, spool):
    if os.getuid() != 0 or not shutil.which("setpriv"):
        checks.skip("an unreadable spool needs root and setpriv")
        return
    reach = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    if subprocess.run(reach + [e2e.GPUPROF, "--version"], capture_output=True).returncode != 0:
        checks.skip("another user cannot execute the build")
        return
    os.chmod(folder, 0o755)
    status, text = export(spool, prefix=reach)
    checks.equal((status, text.count("\n")), (125, 1), "unreadable: " + text)
    checks.expect("Permission denied; run this as its owner" in text, "unreadable says " + text)


def full_disk(checks, folder):
    small = os.path.join(folder, "small")
    with e2e.SmallDisk(small, 64) as mounted:
        if not mounted:
            return checks.skip("mounting a small file system is not allowed here")
        with open(os.path.join(small, "filler"), "wb") as file:
            file.write(b"x" * 44 * 1024)
        done = e2e.gpuprof(["-o", os.path.join(small, "out"), "-r", "1000"],
                           [PYTHON, "-c", COMPUTES % 2], cwd=folder)
        text = done.stderr.decode()
        checks.equal(done.returncode, 0, "full disk: the program's status")
        checks.expect("No space left" in text, "full disk: " + text)
        checks.equal(text.count("gpuprof export"), 1, "full disk: the way to recover, once: " + text)
        checks.expect("gpuprof export -o OTHER " in text, "full disk: to another folder: " + text)


def cut_short(checks, folder):
    """Events found no room on the disk; what was stored is exported and called incomplete."""
    small, out = os.path.join(folder, "short"), os.path.join(folder, "elsewhere")
    with e2e.SmallDisk(small, 200) as mounted:
        if not mounted:
            return checks.skip("mounting a small file system is not allowed here")
        done = e2e.gpuprof(["-o", os.path.join(small, "out"), "-r", "1000"],
                           [PYTHON, "-c", MANY_STACKS], cwd=folder)
        text = done.stderr.decode()
        checks.expect("later ones are lost" in text and "drops: none" not in text, "cut short: " + text)
        spool = glob.glob(os.path.join(small, "out", ".gpuprof-spool-*"))[0]
        status, text = export("-o", out, spool)
        checks.equal(status, 0, "cut short: " + text)
        checks.expect(re.search("drops: .*unknown", text) and "missing: the last records are missing" in text,
                      "cut short: the export says so: " + text)
        trace = e2e.load(e2e.traces(out)[-1])
        checks.expect(any("the last records are missing" in message
                          for message in trace["gpuprof"]["missing"]),
                      "cut short: the file says so: %s" % trace["gpuprof"].get("missing"))


def nothing_stored(checks, folder):
    """No process could be recorded: nothing to recover, and no word of it."""
    out = os.path.join(folder, "nothing")
    done = subprocess.run(["bash", "-c", "ulimit -f 20; exec \"$@\"", "bash", e2e.GPUPROF, "run", "-o", out,
                           "sh", "-c", "%s -c pass; %s -c pass" % (PYTHON, PYTHON)], cwd=folder,
                          capture_output=True, timeout=e2e.PATIENCE_S)
    text = done.stderr.decode()
    checks.expect(text.count("gpuprof: failed: ") == 1 and "ulimit -f" in text,
                  "nothing stored: it is reported once: " + text)
    checks.expect(" processes seen: \n" not in text, "nothing stored: no list without entries: " + text)
    checks.expect("recover with" not in text, "nothing stored: nothing to recover: " + text)
    checks.equal(glob.glob(os.path.join(out, ".gpuprof-spool-*")), [], "nothing stored: no spool is left")


def recovered_once(checks, folder):
    out = os.path.join(folder, "recovered")
    over = os.path.join(folder, "over")
    process = subprocess.Popen([e2e.GPUPROF, "run", "-o", out, PYTHON, "-c", UNTIL, over], stderr=subprocess.PIPE)
    spool = filled_spool_of(out)
    os.kill(daemon_of(spool), signal.SIGKILL)
    open(over, "w").close()
    text = process.communicate(timeout=e2e.PATIENCE_S)[1].decode()
    checks.expect("gpuprof recovered the files from " + spool in text, text)
    checks.expect("recover with" not in text and "gpuprof export" not in text,
                  "nothing is left to recover: " + text)


def summary_file(checks, folder):
    marker = os.path.join(folder, "started")
    for path, part in [(folder, "it is a folder"), (os.path.join(folder, "no/x"), "there is no folder")]:
        done = e2e.gpuprof(["--summary-json", path], ["touch", marker], cwd=folder)
        text = done.stderr.decode()
        checks.equal((done.returncode, text.count("\n")), (125, 1), "--summary-json %s" % path)
        checks.expect(part in text, "--summary-json %s says %s" % (path, text))
        checks.expect(not os.path.exists(marker), "the program did not start")
    for strict, status in [([], 3), (["--strict"], 125)]:
        done = e2e.gpuprof(["-q", "--summary-json", "/dev/full", *strict], ["sh", "-c", "exit 3"], cwd=folder)
        checks.equal(done.returncode, status, "--summary-json /dev/full %s" % strict)
        checks.expect(b"'/dev/full': No space left" in done.stderr, "it is reported: %r" % done.stderr)


def main():
    checks = e2e.Checks()
    with e2e.Folder("spools") as folder:
        spool = spool_left_behind(folder)
        for case in (refused, found_from_nearby, damaged_records, unreadable):
            case(checks, folder, spool)
    for case in (full_disk, cut_short, nothing_stored, recovered_once, summary_file):
        with e2e.Folder("spools") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
