# SPDX-License-Identifier: Apache-2.0
"""A daemon that gets no processor while the program loads hundreds of libraries: each of them has a name afterwards."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import e2e
from spools import daemon_of, filled_spool_of

PROGRAM = os.path.join(e2e.BUILD, "native", "modules")
LIBRARY = os.path.join(e2e.BUILD, "native", "libmany.so")
COUNT = 500  # a socket holds about 200 messages
STOPPED_S = 3  # the library waited half a second for each message, and dropped it


def recorded(folder):
    """(status, lines of stacks, summary) of one run."""
    libraries, out, summary = (os.path.join(folder, name) for name in ("libraries", "out", "summary.json"))
    os.mkdir(libraries)
    for i in range(COUNT):
        shutil.copy(LIBRARY, os.path.join(libraries, "many_%d.so" % i))
    command = [e2e.GPUPROF, "run", "-q", "--rate", "1000", "--format", "folded", "-o", out, "--summary-json", summary,
               "--", PROGRAM, libraries, str(COUNT)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    daemon = daemon_of(filled_spool_of(out))
    os.kill(daemon, signal.SIGSTOP)
    open(os.path.join(libraries, "go"), "w", encoding="utf-8").close()
    process.stdout.readline()
    time.sleep(STOPPED_S)
    os.kill(daemon, signal.SIGCONT)
    open(os.path.join(libraries, "on"), "w", encoding="utf-8").close()
    process.communicate(timeout=e2e.PATIENCE_S)
    lines = [line for path in e2e.written(out) for line in open(path, encoding="utf-8")]
    with open(summary, encoding="utf-8") as file:
        return process.returncode, lines, json.load(file)


def main():
    if not os.path.exists(PROGRAM):
        e2e.skip("not built: " + PROGRAM)
    checks = e2e.Checks()
    with e2e.Folder("busy-daemon") as folder:
        status, lines, summary = recorded(folder)
    checks.equal(status, 7, "the program's status")
    there = [line for line in lines if "hot_many" in line]
    nameless = [line for line in lines if re.search(r";0x[0-9a-f]+", line)]
    checks.expect(len(there) > 0, "the libraries' function is sampled")
    checks.equal(nameless, [], "libraries whose functions have no name")
    checks.equal([text for text in summary["missing"] if "did not reach" in text], [], "what did not reach the daemon")
    checks.done()


if __name__ == "__main__":
    main()
