# SPDX-License-Identifier: Apache-2.0
"""A daemon that gets no processor while a process begins: the process is recorded from when it answers, and what
was before is reported as missing. On the simulated GPU."""

import os
import signal
import subprocess
import sys
import time

import e2e
import sim
import live
from spools import FILLED_BYTES, daemon_of, spool_of, stored_bytes

# Longer than the program waits for anybody, and than the library once waited for an answer; longer still where a busy
# machine needs as long to start the program.
STOPPED_S = (3, 20, 80)
# More than this program itself leaves.
MANY_BYTES = 20 * FILLED_BYTES
WENT_ON = "the program continued before recording began"


def program(out, stopped_s):
    """Below gpuprof run: stops the daemon while its own child, the trainer, begins."""
    spool = spool_of(out)
    daemon = daemon_of(spool)
    os.kill(daemon, signal.SIGSTOP)
    try:
        trainer = subprocess.Popen(sim.simulated(["--steps", "1000000", "--host-ms", "5"]), env=dict(os.environ, GPUSIM_QUIET="1"))
        time.sleep(stopped_s)
    finally:
        os.kill(daemon, signal.SIGCONT)
    # Until something of it is there.
    live.wait_for(lambda: stored_bytes(spool) > MANY_BYTES or trainer.poll() is not None)
    trainer.terminate()
    trainer.wait()
    sys.exit(0)


def stopped_for(folder, seconds):
    """(the run, files of the trainer, what they say is missing)."""
    out = os.path.join(folder, "out-%d" % seconds)
    done = e2e.gpuprof(["-o", out], [sys.executable, os.path.abspath(__file__), out, str(seconds)])
    traces = [e2e.load(path) for path in e2e.traces(out)]
    traces = [trace for trace in traces if "sim_trainer" in trace["gpuprof"]["program"]]
    return done, traces, "\n".join(text for trace in traces for text in trace["gpuprof"]["missing"])


def main():
    if len(sys.argv) > 1:
        program(sys.argv[1], int(sys.argv[2]))
    sim.require_build()
    checks = e2e.Checks()
    with e2e.Folder("late-daemon") as folder:
        for seconds in STOPPED_S:
            done, traces, missing = stopped_for(folder, seconds)
            if WENT_ON in missing:
                break
        checks.equal(done.returncode, 0, "the program's status: %r" % done.stderr[-500:])
        if checks.equal(len(traces), 1, "a file of the trainer"):
            kernels = sum(event.get("cat") == "kernel" for event in traces[0]["traceEvents"])
            checks.expect(kernels > 0, "it is recorded once the daemon answers: %d kernels" % kernels)
            checks.expect(WENT_ON in missing, "what is not there is reported: " + missing)
    checks.done()


if __name__ == "__main__":
    main()
