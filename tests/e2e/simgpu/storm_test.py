# SPDX-License-Identifier: Apache-2.0
"""A storm of kernel launches on four streams, with default options and launch stacks: nothing is dropped
at a rate that programs have; at full speed every launch is kept or counted as dropped.

usage: storm_test.py [--launches N] [--cases NAME,...]

  rate     50,000 launches a second
  default  as fast as the simulated driver's default cost of a call allows
  bursts   160 threads of 20 launches each, 8 at a time: more than there are buffers for CUPTI
  full     no cost of a call at all: more than any real driver can launch"""

import argparse
import json
import os
import sys

import e2e
import sim

STORM = os.path.join(e2e.SIMGPU, "sim_storm")
STREAMS = 4
TRIES = 5
# What the collector may take in memory, whatever comes.
MOST_DAEMON_BYTES = 256 << 20
CASES = {
    "rate": (["--rate", "50000"], ["--api-cost", "0", "--kernel-time", "500ns"]),
    "default": ([], ["--kernel-time", "500ns"]),
    "bursts": (["--burst", "8"], []),
    "full": ([], ["--api-cost", "0", "--kernel-time", "500ns"]),
}
LOSSES = ("dropped by CUPTI", "no CUPTI buffer left", "no ring left for the thread")
# Which stage could not keep up, by what was lost there.
STAGES = [
    ("dropped by CUPTI", "CUPTI itself, before a record reached us"),
    ("no CUPTI buffer left", "the buffers that CUPTI writes into"),
    ("ring full", "the rings between the program and the collector"),
]


def storm(launches, case, folder):
    options, simulated = CASES[case]
    os.mkdir(folder)
    summary = os.path.join(folder, "summary.json")
    result = e2e.gpuprof(["-o", os.path.join(folder, "out"), "--summary-json", summary],
                         [sim.GPUSIM_RUN, "--quiet", *simulated, "--", STORM, "--launches",
                          str(launches), "--streams", str(STREAMS), *options], timeout=600)
    with open(summary, encoding="utf-8") as file:
        return result, json.loads(result.stdout), json.load(file)


def without_loss(launches, case, folder):
    """A storm; up to TRIES times where none of it must be lost and our threads had too little of the processors."""
    for number in range(TRIES):
        result, expected, results = storm(launches, case, os.path.join(folder, str(number)))
        lost = dict(results["drops_by_reason"])
        if case == "full" or not results["ring_drops_by_kind"] and not any(reason in lost for reason in LOSSES):
            break
    return result, expected, results


def check(checks, case, launches):
    if case == "bursts":
        launches = 160 * 20
    with e2e.Folder("storm-" + case) as folder:
        result, expected, results = without_loss(launches, case, folder)
        checks.equal(result.returncode, 0, case + ": status")
        checks.equal(expected["launched"], launches, case + ": the program launched")
        kept = results["events_by_kind"].get("kernels", 0)
        lost = dict(results["drops_by_reason"])
        if case == "bursts":
            checks.expect("no CUPTI buffer left" not in lost, "bursts: buffers: %r" % lost)
            checks.expect("no ring left for the thread" not in lost, "bursts: rings: %r" % lost)
        dropped = results["ring_drops_by_kind"].get("kernels", 0) + lost.get("dropped by CUPTI", 0)
        memory = results["overhead"]["daemon_peak_bytes"]
        stage = next((text for reason, text in STAGES if lost.get(reason)), "none")
        print("  %s: %.0f launches/s, kept %d, dropped %d (%.2f %% kept), limited by: %s; collector "
              "%.0f MiB; other drops %s"
              % (case, expected["launches_per_second"], kept, dropped, 100 * kept / launches, stage,
                 memory / (1 << 20), results["ring_drops_by_kind"]))
        checks.equal(kept + dropped, launches, case + ": kept + dropped = launched")
        checks.expect(0 < memory < MOST_DAEMON_BYTES, "%s: collector took %d bytes" % (case, memory))
        if case != "full":
            checks.equal((dropped, results["ring_drops_by_kind"]), (0, {}), case + ": nothing dropped")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--cases", default=",".join(CASES))
    arguments = parser.parse_args()
    sim.require_build()
    checks = e2e.Checks()
    for case in arguments.cases.split(","):
        check(checks, case, arguments.launches)
    checks.done()


if __name__ == "__main__":
    sys.exit(main())
