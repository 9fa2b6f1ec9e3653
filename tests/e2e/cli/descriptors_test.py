# SPDX-License-Identifier: Apache-2.0
"""A program of many processes where few descriptors are allowed (ulimit -n)."""

import json
import os
import subprocess
import sys

import e2e

PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable
PROCESSES = 60
# Each lives for long enough to be recorded.
BRIEF = "import time\nwhile time.thread_time() < 0.05: sum(range(1000))"
LIMITED = "ulimit -n 64; exec \"$@\""
LOOP = "i=0; while [ $i -lt %d ]; do \"$@\"; i=$((i + 1)); done" % PROCESSES


def one_after_another(checks, folder):
    out, summary = os.path.join(folder, "out"), os.path.join(folder, "summary.json")
    done = subprocess.run(["sh", "-c", LIMITED, "sh", e2e.GPUPROF, "run", *e2e.FORMAT_OPTION, "-o", out,
                           "--summary-json", summary, "--all-processes", "sh", "-c", LOOP, "sh", PYTHON, "-c", BRIEF],
                          cwd=folder, capture_output=True, timeout=e2e.PATIENCE_S)
    text = done.stderr.decode()
    checks.equal(done.returncode, 0, text)
    with open(summary, encoding="utf-8") as file:
        data = json.load(file)
    checks.expect(data["complete"], "nothing failed: %r" % data["failures"])
    traced = [process for process in data["processes"] if process["role"] == "traced"]
    checks.equal((data["processes_seen"], len(traced)), (PROCESSES + 1,) * 2, "processes met, with the shell: %s" % text)
    checks.expect("no file descriptor left" not in text, "none is without one: %s" % text)


def main():
    checks = e2e.Checks()
    with e2e.Folder("descriptors") as folder:
        one_after_another(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
