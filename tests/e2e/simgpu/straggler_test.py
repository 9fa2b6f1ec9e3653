# SPDX-License-Identifier: Apache-2.0
"""Four ranks, of which the last comes 20 ms late to every step: the collectives of the others last
that much longer, and both profilers say so.

usage: straggler_test.py [--steps N] [--keep FOLDER] [--python PATH]"""

import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import run as runner  # noqa: E402
import straggle  # noqa: E402
import torch_runs  # noqa: E402
from run import e2e  # noqa: E402

RANKS = 4
LATE_MS, TOLERANCE_MS, WITNESS_MS = 20, 5, 0.001


def ranks_of(run):
    """Process ids in the order of their ranks: PyTorch's trace states the rank."""
    order = {}
    for pid, path in run.kineto.items():
        with open(path, encoding="utf-8") as file:
            order[int(re.search(r'"rank":\s*(\d+)', file.read()).group(1))] = pid
    return [order[rank] for rank in sorted(order)]


def within_session(witness, truth):
    """The part of a witness of the whole run that the truth of the session holds."""
    ids = set(truth.calls)
    witness.ops = [op for op in witness.ops if op.corr in ids]
    return witness


def surpluses(run):
    """{witness: milliseconds by which ranks 0..2 wait longer than the last}, over equal steps."""
    told = {"truth": [], "ours": [], "kineto": []}
    for pid in ranks_of(run):
        truth, _ = runner.truth_of(run, pid, run.windows[pid])
        told["truth"].append(straggle.collectives(truth))
        told["ours"].append(straggle.collectives(within_session(runner.ours_of(run, pid), truth)))
        told["kineto"].append(
            straggle.collectives(within_session(runner.kineto_of(run, pid), truth)))
    return told


def judge(checks, told, steps):
    for name, ranks in told.items():
        checks.equal(len({len(r) for r in ranks}), 1, name + ": as many collectives on each rank")
        checks.expect(min(map(len, ranks)) >= steps, "%s: %d steps" % (name, steps))
    tail = {name: [r[-steps:] for r in ranks] for name, ranks in told.items()}
    true = straggle.surplus_ms(tail["truth"], RANKS - 1)
    for name, ranks in tail.items():
        got = straggle.surplus_ms(ranks, RANKS - 1)
        print("%-6s ranks 0..2 wait longer than rank 3 by %s ms (median of %d steps)"
              % (name, ", ".join("%.4f" % ms for ms in got), steps))
        for rank, (ms, right) in enumerate(zip(got, true)):
            checks.expect(abs(ms - LATE_MS) <= TOLERANCE_MS,
                          "%s: rank %d waits %.3f ms longer" % (name, rank, ms))
            checks.expect(abs(ms - right) <= WITNESS_MS,
                          "%s: rank %d: %.4f ms, truth %.4f" % (name, rank, ms, right))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--keep")
    parser.add_argument("--python")
    wanted = parser.parse_args()
    python = torch_runs.need(wanted.python)
    checks = e2e.Checks()
    with e2e.Folder("straggler") as folder:
        folder = wanted.keep or folder
        command = torch_runs.script(python, folder, "straggler.py",
                                    ["--steps", str(wanted.steps)], RANKS)
        run = runner.execute(folder, command, ["--cupti", "per-client", "--devices", str(RANKS)],
                             env=torch_runs.environment(), timeout=300)
        if checks.equal(run.status, 0, run.explain()) and checks.equal(
                len(run.kineto), RANKS, "traces of torch.profiler"):
            judge(checks, surpluses(run), wanted.steps)
        if checks.failed:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
