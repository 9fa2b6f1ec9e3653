# SPDX-License-Identifier: Apache-2.0
"""The simulated trainer's trace holds exactly what the program says it did."""

import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import sim  # noqa: E402
from trace_facts import Facts, demangle, parse_results  # noqa: E402

BUSY = ["--steps", "12", "--kernels", "30", "--streams", "3", "--devices", "2", "--threads", "2",
        "--copies", "2", "--memsets", "2", "--graph-nodes", "5", "--host-ms", "20"]


def merged(folder):
    """All spans of the one worker as one list of facts."""
    return [Facts(e2e.load(path)) for path in e2e.traces(folder)]


def check_counts(checks, facts, expected):
    names = demangle(expected["kernel"])
    wanted = collections.Counter({names[n]: c for n, c in expected["kernel"].items()})
    got = sum((f.kernels_by_name() for f in facts), collections.Counter())
    checks.equal(got, wanted, "kernels by name")
    copies = sum((f.copies_by_kind() for f in facts), collections.Counter())
    checks.equal(copies, collections.Counter({k: n for k, n in expected["memcpy"].items() if n}),
                 "copies by kind")
    checks.equal(sum(len(f.sets) for f in facts), expected["memset"], "memsets")
    numbers = [n for f in facts for n in f.step_numbers()]
    checks.equal(len(numbers), expected["steps"], "steps")
    checks.equal(numbers, sorted(set(numbers)), "step numbers grow")


def check_links(checks, facts):
    for f in facts:
        bad = f.unlinked()
        checks.expect(not bad, "every kernel is linked: %d are not, first: %s"
                      % (len(bad), bad[:1]))
        checks.equal(f.badly_nested(), 0, "ranges nest strictly")
        stacks = [op for op in f.ops if op["args"].get("Call stack")]
        checks.expect(stacks, "operators carry call stacks")
        checks.expect(any("train" in op["args"]["Call stack"] for op in stacks),
                      "a call stack names the trainer's functions: %s"
                      % [op["args"]["Call stack"][:300] for op in stacks[:2]])
        devices = f.trace["deviceProperties"]
        checks.equal(len(devices), 2, "devices")
        checks.expect(all(d["name"].startswith("Simulated GPU") for d in devices), "named simulated")
        for kernel in f.kernels:
            args = kernel["args"]
            if not (args["blocks per SM"] > 0 and 0 < args["est. achieved occupancy %"] <= 100):
                checks.expect(False, "occupancy of %s: %s" % (kernel["name"], args))
                break


def check_without_stacks(checks):
    """Launches carry none, and all else is there."""
    with e2e.Folder("trainer-no-stacks") as folder:
        out = os.path.join(folder, "out")
        words = ["--step", "nvtx:step", "--cuda-graph", "node", "-t", "cuda,nvtx", "--no-with-stack"]
        result = sim.run_whole(out, words, BUSY)
        facts = merged(out)
        if not checks.expect(facts, "a trace file appeared; stderr: %s" % result.stderr.decode()[-800:]):
            return
        check_counts(checks, facts, parse_results(result.stdout))
        for f in facts:
            checks.expect(not f.unlinked(), "every kernel is linked without stacks")
            checks.expect(not any("stack" in key.lower() for event in f.trace["traceEvents"]
                                  for key in event.get("args", ())), "nothing has a stack with --no-with-stack")
            checks.expect(not f.trace.get("stackFrames"), "no frames with --no-with-stack")


def check_abort(checks):
    """Nobody handles SIGABRT: what CUPTI holds by then is delivered before the process ends."""
    for how in ("abort", "exception"):
        with e2e.Folder("trainer-abort") as folder:
            busy = BUSY + ["--exit", how]
            plain = sim.run_plain(busy)
            out = os.path.join(folder, "out")
            result = sim.run_whole(out, ["--step", "nvtx:step"], busy)
            checks.equal((result.returncode, result.stdout), (plain.returncode, plain.stdout), how + ": status and stdout")
            stderr = result.stderr.decode()
            checks.expect("at least those of" not in stderr, how + ": every launch has its records: " + stderr[-800:])
            facts = merged(out)
            if checks.expect(facts, how + ": a trace file appeared; stderr: " + stderr[-800:]):
                check_counts(checks, facts, parse_results(plain.stdout))


def main():
    sim.require_build()
    checks = e2e.Checks()
    with e2e.Folder("trainer") as folder:
        plain = sim.run_plain(BUSY)
        out = os.path.join(folder, "out")
        result = sim.run_whole(out, ["--step", "nvtx:step", "--cuda-graph", "node"], BUSY)
        checks.equal(result.returncode, plain.returncode, "status")
        checks.equal(result.stdout, plain.stdout, "stdout")
        facts = merged(out)
        if checks.expect(facts, "a trace file appeared; stderr: %s" % result.stderr.decode()[-800:]):
            check_counts(checks, facts, parse_results(plain.stdout))
            check_links(checks, facts)
        check_without_stacks(checks)
        check_abort(checks)
        print(result.stderr.decode())
        if checks.failed:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
