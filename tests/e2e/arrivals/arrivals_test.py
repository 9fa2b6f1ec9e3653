# SPDX-License-Identifier: Apache-2.0
"""Libraries come by dlopen while all of gpuprof is active; their load is held up for 100 ms at one stage each. Nothing
in them is called before it is over, and all is looked at afterwards.

usage: arrivals_test.py [--only STAGE]"""

import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import live  # noqa: E402

FOLDER = os.path.join(e2e.BUILD, "arrivals")
HOST = os.path.join(FOLDER, "host")
STAGES = ("resolver", "descriptor", "constructor", "thread", "lazy")
NAMES = ("libcupti.so.12", "libcuda.so.1")
LIMIT_S = e2e.PATIENCE_S
HOST_THREADS = 3


def paths(stage):
    return [os.path.join(FOLDER, stage, name) for name in NAMES]


def check_result(checks, what, done, rounds):
    """The program came to its end, and one of its libraries was called, so that they were looked for at all."""
    lines = done.stdout.decode().splitlines()
    checks.equal((done.returncode, lines[-1:]), (0, ["end"]), what + ": " + done.stderr.decode()[-300:])
    checks.expect(len(lines) > rounds * len(NAMES), what + ": each was opened")
    checks.expect(any(line.startswith("called ") for line in lines), what + ": they were looked at")


def recorded(checks, stage, folder):
    """Preloaded: the interpreter, PyTorch, the driver and CUPTI are looked for."""
    done = e2e.gpuprof(["-q", "-r", "1000", "-o", os.path.join(folder, stage)],
                       [HOST, "1", "20", "1500", *paths(stage)], timeout=LIMIT_S)
    check_result(checks, stage + ", recorded", done, 1)


def attached(checks, stage, folder):
    """Attached to: what is in tables of addresses and in data is looked for besides."""
    with subprocess.Popen([HOST, "12", "200", "150", *paths(stage)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        live.wait_for(lambda: len(live.threads(program.pid)) == HOST_THREADS)
        live.cli("attach", program.pid, "-d", "600s", "-o", os.path.join(folder, stage + "-attached"))
        out, err = program.communicate(timeout=LIMIT_S)
    check_result(checks, stage + ", attached", subprocess.CompletedProcess([], program.returncode, out, err), 12)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    checks = e2e.Checks()
    with e2e.Folder("arrivals") as folder:
        for stage in STAGES:
            if only not in ("", stage):
                continue
            for how in (recorded, attached):
                try:
                    how(checks, stage, folder)
                except subprocess.TimeoutExpired as late:
                    checks.expect(False, "%s, %s: still running after %d s" % (stage, how.__name__, late.timeout))
    checks.done()


if __name__ == "__main__":
    main()
