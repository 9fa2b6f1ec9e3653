# SPDX-License-Identifier: Apache-2.0
"""Where more wants to run than there are processors, a sampled thread is preempted in our handler more often than
not: the mask it has there is not taken for its own, and it is sampled to its end.

usage: busy_machine_test.py [RUNS]   (3)"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
HOG = [sys.executable, "-c", "while True: pass"]
# No system call of its own: it is then preempted where signals are delivered.
PROGRAM = "import time\nwhile time.process_time() < 0.8: sum(range(1000))\n"


def main():
    checks = e2e.Checks()
    hogs = [subprocess.Popen(HOG) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        with e2e.Folder("busy-machine") as folder:
            for run in range(RUNS):
                saved = os.path.join(folder, "summary.json")
                done = e2e.gpuprof(["-r", "1000", "-f", "-o", os.path.join(folder, "out"), "--summary-json", saved],
                                   [e2e.real_python(), "-c", PROGRAM])
                with open(saved, encoding="utf-8") as file:
                    summary = json.load(file)
                checks.equal((done.returncode, summary["drops_by_reason"].get("thread blocks the sampling signal", 0)), (0, 0),
                             "run %d: what blocks the sampling signal" % run)
                samples = summary["events_by_kind"].get("samples", 0)
                print("run %d: %d samples of 0.8 s of processor time" % (run, samples))
                checks.expect(samples > 80, "run %d: %d samples of 0.8 s of processor time" % (run, samples))
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    checks.done()


if __name__ == "__main__":
    main()
