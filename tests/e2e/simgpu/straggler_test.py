# SPDX-License-Identifier: Apache-2.0
"""Four ranks, of which the last comes 20 ms late to every step: the collectives of the others last
that much longer, and both profilers say so.

usage: straggler_test.py [--steps N] [--keep FOLDER] [--python PATH]"""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import run as runner  # noqa: E402
import straggle  # noqa: E402
import torch_runs  # noqa: E402
from run import e2e  # noqa: E402

RANKS = 4
LATE_MS, TOLERANCE_MS, LAUNCH_MS, WITNESS_MS = 20, 5, 1, 0.001


def ranks_of(run):
    """Process ids in the order of their ranks."""
    return sorted(run.windows, key=lambda pid: run.windows[pid]["rank"])


def within_session(log, reference):
    """The part of a log of the whole run that the reference log of the session holds."""
    ids = set(reference.calls)
    log.ops = [op for op in log.ops if op.corr in ids]
    return log


def reported_by(run):
    """(references, {source: durations of the collectives of each rank}) in the order of the ranks."""
    references, reported = [], {"truth": [], "ours": [], "kineto": []}
    for pid in ranks_of(run):
        reference, _ = runner.reference_of(run, pid, run.windows[pid])
        references.append(reference)
        for name, log in (("truth", reference), ("ours", runner.recorded_of(run, pid)),
                          ("kineto", runner.kineto_of(run, pid))):
            ops = straggle.collectives(within_session(log, reference))
            reported[name].append([op.dur for op in ops])
    return references, reported


def check_delays(checks, references, reported, steps):
    for name, ranks in reported.items():
        checks.equal(len({len(r) for r in ranks}), 1, name + ": as many collectives on each rank")
        checks.expect(min(map(len, ranks)) >= steps, "%s: %d steps" % (name, steps))
    late = straggle.lateness_ms(references, RANKS - 1, steps)
    print("launch ranks 0..2 are before rank 3 by    %s ms" % ", ".join("%.4f" % ms for ms in late))
    for name, ranks in reported.items():
        got = straggle.surplus_ms([r[-steps:] for r in ranks], RANKS - 1)
        print("%-6s ranks 0..2 wait longer than it by %s ms (median of %d steps)"
              % (name, ", ".join("%.4f" % ms for ms in got), steps))
        if name == "truth":
            true = got
        for rank, (ms, right, launch) in enumerate(zip(got, true, late)):
            # A loaded machine makes the late rank later still, and the launch says by how much.
            checks.expect(LATE_MS - TOLERANCE_MS <= ms <= max(LATE_MS, launch) + TOLERANCE_MS,
                          "%s: rank %d waits %.3f ms longer" % (name, rank, ms))
            checks.expect(abs(ms - launch) <= LAUNCH_MS,
                          "%s: rank %d: %.3f ms, launched %.3f before" % (name, rank, ms, launch))
            checks.expect(abs(ms - right) <= WITNESS_MS,
                          "%s: rank %d: %.4f ms, reference %.4f" % (name, rank, ms, right))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--keep")
    parser.add_argument("--python")
    wanted = parser.parse_args()
    python = torch_runs.require_torch(wanted.python)
    checks = e2e.Checks()
    with e2e.Folder("straggler") as folder:
        folder = wanted.keep or folder
        command = torch_runs.script(python, folder, "straggler.py",
                                    ["--steps", str(wanted.steps)], RANKS)
        run = runner.execute(folder, command, ["--cupti", "per-client", "--devices", str(RANKS)],
                             env=torch_runs.environment(), timeout=600)
        if checks.equal(run.status, 0, run.explain()) and checks.equal(
                len(run.kineto), RANKS, "traces of torch.profiler"):
            check_delays(checks, *reported_by(run), wanted.steps)
        if checks.failed:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
