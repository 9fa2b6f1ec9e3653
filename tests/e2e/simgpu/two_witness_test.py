# SPDX-License-Identifier: Apache-2.0
"""Our trace of C++ programs on the simulated GPU against the simulator's own log, record by record.

usage: two_witness_test.py [--keep FOLDER]"""

import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import run as runner  # noqa: E402
from compare import Comparison  # noqa: E402
from run import e2e, sim  # noqa: E402

CUDART_APP = os.path.join(e2e.SIMGPU, "sim_cudart_app")
BUSY = ["--kernels", "30", "--streams", "3", "--devices", "2", "--threads", "2", "--copies", "2",
        "--memsets", "2", "--graph-nodes", "5"]
CASES = {
    "busy": ([sim.TRAINER, "--steps", "12", "--host-ms", "5", *BUSY], ()),
    "launch storm": ([sim.TRAINER, "--steps", "20", "--kernels", "2000", "--streams", "4"],
                     ("--api-cost", "0", "--time-scale", "0.2")),
    "shuffled records": ([sim.TRAINER, "--steps", "12", *BUSY],
                         ("--scenario", "shuffled,complete-on-new-thread")),
    "late calls": ([sim.TRAINER, "--steps", "12", *BUSY], ("--scenario", "gpu-before-api")),
    "wrapping ids": ([sim.TRAINER, "--steps", "12", *BUSY],
                     ("--correlation-start", "4294967000")),
    "layout 11.8": ([sim.TRAINER, "--steps", "12", *BUSY], ("--layout", "11.8")),
    "layout 12.4": ([sim.TRAINER, "--steps", "12", *BUSY], ("--layout", "12.4")),
    "layout 13.2": ([sim.TRAINER, "--steps", "12", *BUSY], ("--layout", "13.2")),
    "cuBLAS": ([os.path.join(e2e.SIMGPU, "blas_app")], ("--devices", "1")),
    "cudart": ([CUDART_APP, "work", "200"], ("--devices", "1")),
}
# CUPTI's clock becomes another one in mid-run. The simulator lays its time-stamp counter through
# readings of its own, up to 100 ms apart, so that a duration in ticks is right to some ppm only.
CLOCKS = {
    "tsc-clock:20": "the time-stamp counter",
    "realtime-step:20": "a nanosecond clock",
}
# Scenario of the simulator, and the counter of gpuprof that must state every record lost by it.
LOSSES = {
    "dropped:100": "dropped by CUPTI",
    "zero-times": "GPU record with invalid times",
    "end-before-start": "GPU record with invalid times",
}


# What our trace calls the kinds of records that found its rings full.
RECORDS = {"kernel": "kernels", "memcpy": "memory copies", "memset": "memory sets",
           "sync": "synchronisations"}


def compared(checks, name, folder, program, sim_args, rated=False):
    """The comparison of one run, None if there was nothing to compare."""
    run = runner.execute(folder, program, sim_args)
    if not checks.equal(run.status, 0, name + ": " + run.explain()):
        return None
    if not checks.equal((len(run.reference), sorted(run.recorded)), (1, sorted(run.reference)),
                        name + ": one process, one log, one trace: " + run.explain()):
        return None
    (pid,) = run.reference
    reference, _ = runner.reference_of(run, pid)
    result = Comparison(reference, runner.recorded_of(run, pid), fit=False, rated=rated)
    print("%-18s %s" % (name, result.summary()), flush=True)
    checks.expect(reference.count("kernel"), name + ": the reference log holds kernels")
    return result


def check(checks, name, folder):
    program, sim_args = CASES[name]
    if not os.path.exists(program[0]):
        return checks.skip("%s: not built: %s" % (name, program[0]))
    result = compared(checks, name, folder, program, sim_args)
    if result is None:
        return None
    if "ring full" in result.recorded.header["dropped"]:
        return too_busy(checks, name, result)
    for difference in result.failures():
        checks.expect(False, "%s: %s" % (name, difference))
    return checks.expect(not result.found.total(), name + ": both agree")


def too_busy(checks, name, result):
    """The daemon did not get the processor in time: exactly what is stated is missing."""
    facts = result.recorded.header["facts"]
    for kind, stated in RECORDS.items():
        checks.equal(result.found.counts.pop("missing " + kind, 0),
                     int(facts.get("stats.dropped_ring_full." + stated, 0)),
                     "%s: %s missing and stated" % (name, stated))
    if int(facts.get("stats.dropped_ring_full.API calls", 0)):
        result.found.counts.pop("no launch", 0)
    return checks.equal(dict(result.found.counts), {}, name + ": what is there is right")


def check_clock(checks, scenario, source, folder):
    """Every record is converted from the clock it was written with, and the trace names both."""
    program = [sim.TRAINER, "--steps", "60", "--host-ms", "5", *BUSY]
    result = compared(checks, scenario, folder, program, ("--scenario", scenario),
                      rated=scenario.startswith("tsc"))
    if result is None:
        return
    for difference in result.failures():
        checks.expect(False, "%s: %s" % (scenario, difference))
    facts, missing = result.recorded.header["facts"], result.recorded.header["missing"]
    checks.expect(facts.get("clock.1", "").startswith("CLOCK_REALTIME, 1 tick = 1 ns"),
                  "%s: the first clock is named: %s" % (scenario, facts.get("clock.1")))
    checks.expect(facts.get("clock.2", "").startswith(source + ", 1 tick = "),
                  "%s: the second clock is named: %s" % (scenario, facts.get("clock.2")))
    checks.expect(any("changed CUPTI's clock to" in text for text in result.recorded.header["notices"]),
                  scenario + ": a message says so")
    doubtful = int(facts.get("clock.ambiguous_records", 0))
    # Every operation has a launch, which tells a second; overhead records have none.
    checks.expect(doubtful < 50, "%s: %d records in doubt" % (scenario, doubtful))
    checks.equal(any("CUPTI's clock changed during the recording" in text for text in missing), doubtful > 0,
                 "%s: doubt is stated: %s" % (scenario, missing))


def check_loss(checks, scenario, counter, folder):
    """What CUPTI lost is missing, and our trace states how many records."""
    result = compared(checks, scenario, folder, CASES["busy"][0], ("--scenario", scenario))
    if result is None:
        return
    lost = len(result.match.missing)
    checks.expect(lost, scenario + ": records were lost")
    stated = result.recorded.header["dropped"].get(counter, {})
    checks.equal(stated, {"since the start": lost, "in this window": lost},
                 "%s: '%s' states the loss, all of it in the one window" % (scenario, counter))
    checks.expect("%d records are missing: %s" % (lost, counter)
                  in result.recorded.header["missing"], scenario + ": a message says so")
    check_contents(checks, scenario, result)


def check_contents(checks, scenario, result):
    wrong = {what: count for what, count in result.found.counts.items()
             if not what.startswith("missing")}
    checks.equal(wrong, {}, scenario + ": what is there is right")


def check_cut_buffers(checks, folder):
    """Behind a record of unknown kind a buffer is lost: stated as what it is, with its bytes."""
    scenario = "unknown-kind"
    result = compared(checks, scenario, folder, CASES["busy"][0], ("--scenario", scenario))
    if result is None:
        return
    lost = len(result.match.missing)
    checks.expect(lost, scenario + ": records were lost")
    matches = [re.match(r"(\d+) activity buffers? .*cut short .* last (\d+) bytes are lost$", difference)
               for difference in result.recorded.header["missing"]]
    matches = [found for found in matches if found]
    if not checks.equal(len(matches), 1, scenario + ": one message says so: %s"
                        % result.recorded.header["missing"]):
        return
    buffers, lost_bytes = (int(number) for number in matches[0].groups())
    checks.expect(0 < buffers <= lost, "%s: %d buffers" % (scenario, buffers))
    # A record of what is compared has 40 to 500 bytes; those of calls are lost beside it.
    checks.expect(lost_bytes >= 40 * lost, "%s: %d bytes of %d records and more"
                  % (scenario, lost_bytes, lost))
    check_contents(checks, scenario, result)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", help="leave all logs and traces in this folder")
    keep = parser.parse_args().keep
    sim.require_build()
    checks = e2e.Checks()
    with e2e.Folder("oracle") as folder:
        for name in CASES:
            check(checks, name, os.path.join(keep or folder, name.replace(" ", "_")))
        for scenario, source in CLOCKS.items():
            check_clock(checks, scenario, source,
                        os.path.join(keep or folder, scenario.split(":")[0]))
        for scenario, counter in LOSSES.items():
            check_loss(checks, scenario, counter,
                       os.path.join(keep or folder, scenario.split(":")[0]))
        check_cut_buffers(checks, os.path.join(keep or folder, "unknown-kind"))
        if checks.failed:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
