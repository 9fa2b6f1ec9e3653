# SPDX-License-Identifier: Apache-2.0
"""dlopen, malloc, throw, fork and short threads at once, every thread sampled 2,000 times a second,
by the whole library and a daemon: every thread goes on. The same with libc's dl_iterate_phdr hangs.

usage: stress_test.py [--seconds N] [--only default|wall|negative]"""

import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
from control_client import Daemon, Session  # noqa: E402

PROGRAM = os.path.join(e2e.BUILD, "bin", "sampler_stress")
PLUGINS = [os.path.join(e2e.BUILD, "lib", "libsampler_plugin_%d.so" % n) for n in range(1, 6)]
# sampler_stress ends with this status when a thread has not moved for several seconds.
STALLED = 3


def variant(name):
    return os.path.join(e2e.BUILD, "lib", "libgpuprof_inject%s.so" % name)


def stress(folder, sampler, library, seconds):
    with Daemon() as daemon:
        session = Session(daemon, output=folder, rate_hz=2000, sampler=sampler)
        process = session.start([PROGRAM, str(seconds), *PLUGINS], library,
                                stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        try:
            output = process.communicate(timeout=seconds + e2e.PATIENCE_S)[0].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            return None, process.communicate()[0].decode(), 0
        summary = json.loads(session.end(process.returncode))
        samples = summary["events_by_kind"].get("samples", 0)
        return process.returncode, output, samples


def continues(checks, name, folder, sampler, library, seconds):
    status, output, samples = stress(folder, sampler, library, seconds)
    last = output.splitlines()[-2:]
    checks.equal(status, 0, "%s: status; %s" % (name, last))
    checks.expect("failures 0" in output, "%s: no failure of the program" % name)
    print("%s, %d s at 2 kHz: status %s, %s samples; %s" % (name, seconds, status, samples, last))


def hangs(checks, folder, seconds):
    for _ in range(3):
        status, output, _ = stress(folder, "wall-test-only", variant("_negative"), seconds)
        print("negative control: status %s, %s" % (status, output.splitlines()[-1:]))
        if status in (None, STALLED):
            return checks.expect(True, "")
    return checks.expect(False, "negative control: three runs without a hang: the stress does not bite")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    for path in (PROGRAM, variant("_stress"), variant("_negative")):
        if not os.path.exists(path):
            e2e.skip("not built: " + path)
    checks = e2e.Checks()
    with e2e.Folder("stress") as folder:
        if arguments.only in ("", "default"):
            continues(checks, "default trigger", folder, "auto", e2e.LIBRARY, arguments.seconds)
        if arguments.only in ("", "wall"):
            continues(checks, "wall timer", folder, "wall-test-only", variant("_stress"),
                      arguments.seconds)
        if arguments.only in ("", "negative"):
            hangs(checks, folder, max(arguments.seconds, 30))
    checks.done()


if __name__ == "__main__":
    main()
