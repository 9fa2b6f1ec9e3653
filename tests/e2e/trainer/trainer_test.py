# SPDX-License-Identifier: Apache-2.0
"""The simulated trainer's trace holds exactly what the program says it did."""

import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import sim  # noqa: E402
from trace_facts import Facts, demangle, printed  # noqa: E402

BUSY = ["--steps", "12", "--kernels", "30", "--streams", "3", "--devices", "2", "--threads", "2",
        "--copies", "2", "--memsets", "2", "--graph-nodes", "5", "--host-ms", "20"]


def merged(folder):
    """All spans of the one worker as one list of facts."""
    return [Facts(e2e.load(path)) for path in e2e.traces(folder)]


def check_counts(checks, facts, said):
    names = demangle(said["kernel"])
    wanted = collections.Counter({names[n]: c for n, c in said["kernel"].items()})
    got = sum((f.kernels_by_name() for f in facts), collections.Counter())
    checks.equal(got, wanted, "kernels by name")
    copies = sum((f.copies_by_kind() for f in facts), collections.Counter())
    checks.equal(copies, collections.Counter({k: n for k, n in said["memcpy"].items() if n}),
                 "copies by kind")
    checks.equal(sum(len(f.sets) for f in facts), said["memset"], "memsets")
    numbers = [n for f in facts for n in f.step_numbers()]
    checks.equal(len(numbers), said["steps"], "steps")
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
        ours = sim.run_whole(out, words, BUSY)
        facts = merged(out)
        if not checks.expect(facts, "a trace file appeared; stderr: %s" % ours.stderr.decode()[-800:]):
            return
        check_counts(checks, facts, printed(ours.stdout))
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
            plain = sim.plain(busy)
            out = os.path.join(folder, "out")
            ours = sim.run_whole(out, ["--step", "nvtx:step"], busy)
            checks.equal((ours.returncode, ours.stdout), (plain.returncode, plain.stdout), how + ": status and stdout")
            told = ours.stderr.decode()
            checks.expect("left no record" not in told, how + ": every launch has its records: " + told[-800:])
            facts = merged(out)
            if checks.expect(facts, how + ": a trace file appeared; stderr: " + told[-800:]):
                check_counts(checks, facts, printed(plain.stdout))


def main():
    sim.need()
    checks = e2e.Checks()
    with e2e.Folder("trainer") as folder:
        plain = sim.plain(BUSY)
        out = os.path.join(folder, "out")
        ours = sim.run_whole(out, ["--step", "nvtx:step", "--cuda-graph", "node"], BUSY)
        checks.equal(ours.returncode, plain.returncode, "status")
        checks.equal(ours.stdout, plain.stdout, "stdout")
        facts = merged(out)
        if checks.expect(facts, "a trace file appeared; stderr: %s" % ours.stderr.decode()[-800:]):
            check_counts(checks, facts, printed(plain.stdout))
            check_links(checks, facts)
        check_without_stacks(checks)
        check_abort(checks)
        print(ours.stderr.decode())
        if checks.failed:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
