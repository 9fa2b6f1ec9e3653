# SPDX-License-Identifier: Apache-2.0
"""The program uses torch.profiler while we record, and CUPTI knows only one set of callbacks: nobody
loses records without saying so, and PyTorch's profiler loses none.

usage: conflicts_test.py [--only NAME] [--keep FOLDER] [--python PATH]"""

import argparse
import dataclasses
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import run as runner  # noqa: E402
import torch_runs  # noqa: E402
from run import SUITE, WHOLE, e2e  # noqa: E402
from shares import Shares, check_kineto  # noqa: E402

SCRIPT = os.path.join(SUITE, "conflict", "own_profiler.py")
SENTENCE = "the program's own CUPTI profiler"
# We step aside inside the profiler's first call and take up again at the first tick after it has
# flushed, or two seconds after its last call.
BEFORE_NS, AFTER_NS = 0, 2_500_000_000
HOLDER = "Nsight Test"


@dataclasses.dataclass
class Case:
    plan: str
    sim: tuple = ()
    run: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    starts_inside: bool = False  # our window opens while the profiler records
    taken: bool = False  # the slot belongs to somebody else: we get no GPU events


CASES = {
    "later": Case("train:1,profile:1,train:4"),
    "twice": Case("train:1,profile:1,train:4,profile:1,train:4"),
    # The delay counts from the program's start; importing PyTorch may take seconds of it.
    "first": Case("profile:20,train:5", run=("--delay", "20s"), starts_inside=True),
    "teardown": Case("train:1,profile:1,train:4,profile:1,train:4", env={"TEARDOWN_CUPTI": "1"}),
    "slot taken": Case("train:1,profile:1,train:1", sim=("--slot-taken", HOLDER), taken=True),
}


def execute(python, case, folder):
    env = dict(torch_runs.environment(), **case.env)
    return runner.execute(folder, [python, SCRIPT, folder, case.plan],
                          ["--cupti", "one", "--devices", "1", *case.sim], [*WHOLE, *case.run], env)


def stated(header):
    """Whether a message about the program's own profiler holds a count or an interval."""
    messages = header["missing"] + header["notices"] + header["remarks"]
    return any(SENTENCE in text and re.search(r"\d", text) for text in messages)


def check_gap(checks, name, shares, stderr):
    """What was launched after its session and before our return is in neither trace: said, with a
    number; and nothing goes on any more when the run is over."""
    over = [phase["over_ns"] for phase in shares.phases if phase["what"] == "profile"]
    neither = sum(any(o <= shares.whole.calls[op.corr].start <= o + AFTER_NS for o in over)
                  for op in shares.recorded.match.missing)
    print("  %s: %d launches between its end and our return" % (name, neither))
    if neither:
        checks.expect("is in neither" in stderr, name + ": launches in neither trace are reported: " + stderr[-1500:])
    checks.expect("until its session ends" not in stderr,
                  name + ": a session that is over is not told as going on: " + stderr[-1500:])


def check_ours(checks, name, case, shares, stderr):
    lost = shares.lost_outside_of_sessions(BEFORE_NS, AFTER_NS)
    checks.expect(not lost, "%s: we miss %d records outside of its sessions, first: %s"
                  % (name, len(lost), lost[0].short() if lost else ""))
    checks.equal(shares.other_failures(), {}, name + ": what we have is right")
    trained = [s for s in shares.rows if s.what == "train"]
    for share in trained[1:] if not case.starts_inside else trained:
        checks.expect(share.recorded, name + ": we took up again after its session")
    missing = len(shares.recorded.match.missing)
    if missing:
        checks.expect(SENTENCE in stderr, "%s: the summary says why %d records are not gpuprof's: %s"
                      % (name, missing, stderr[-1500:]))
        checks.expect(stated(shares.header),
                      "%s: our trace states when or how many records were not ours: %s"
                      % (name, shares.header["missing"] + shares.header["notices"]))
        check_gap(checks, name, shares, stderr)
    if case.starts_inside:
        opened = shares.header["window"]["start_ns"]
        session = shares.phases[0]
        checks.expect(session["begin_ns"] < opened < session["end_ns"],
                      name + ": our window opened inside its session")


def check(checks, python, name, folder):
    case = CASES[name]
    run = execute(python, case, folder)
    if not checks.equal(run.status, 0, "%s: %s" % (name, run.explain())):
        return
    shares = Shares(run)
    print("--- " + name)
    for share in shares.rows:
        print("  " + share.row())
    for line in run.stderr.splitlines():
        if re.search(r"CUPTI|Kineto|missing:|profiler", line):
            print("  | " + line[:300])
    sys.stdout.flush()
    check_kineto(checks, name, shares)
    if case.taken:
        checks.equal(sum(share.recorded for share in shares.rows), 0, name + ": no GPU event of gpuprof")
        checks.expect(HOLDER in run.stderr, name + ": the summary names who has the slot: "
                      + run.stderr[-1500:])
    elif checks.expect(shares.recorded, name + ": we wrote a trace"):
        check_ours(checks, name, case, shares, run.stderr)


def bound_to(folder, symbol):
    """Base names of the objects the loader bound libtorch_cpu.so's use of `symbol` to."""
    expression = re.compile(r"binding file \S*libtorch_cpu\.so \[\d+\] to (\S+) \[\d+\]: "
                            r"normal symbol `%s'" % symbol)
    found = set()
    for path in glob.glob(os.path.join(folder, "loader.*")):
        with open(path, encoding="utf-8", errors="replace") as file:
            found |= {os.path.basename(m.group(1)) for m in map(expression.search, file) if m}
    return found


def check_order(checks, python, mode, wanted, folder):
    """Which object stands in front, told by the loader itself."""
    # PyTorch's libraries bind everything when they are loaded: an import is enough.
    command = ["env", "LD_DEBUG=bindings", "LD_DEBUG_OUTPUT=" + os.path.join(folder, "loader"),
               python, "-c", "import torch"]
    run = runner.execute(folder, command, ["--cupti", mode, "--devices", "1"],
                         env=torch_runs.environment(), timeout=600)
    checks.equal(run.status, 0, "order, %s: %s" % (mode, run.explain()))
    for symbol in ("cuptiActivityEnable", "cuptiActivityRegisterCallbacks"):
        bound = bound_to(folder, symbol)
        print("--- --cupti %s: libtorch_cpu.so's %s is that of %s" % (mode, symbol, sorted(bound)))
        checks.expect(len(bound) == 1 and re.match(wanted, min(bound)),
                      "--cupti %s: %s bound to %s" % (mode, symbol, sorted(bound)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="one of: order, " + ", ".join(CASES))
    parser.add_argument("--keep")
    parser.add_argument("--python")
    wanted = parser.parse_args()
    python = torch_runs.require_torch(wanted.python)
    checks = e2e.Checks()
    with e2e.Folder("conflicts") as folder:
        folder = wanted.keep or folder
        for name in CASES:
            if wanted.only in (None, name):
                check(checks, python, name, os.path.join(folder, name.replace(" ", "_")))
        if wanted.only in (None, "order"):
            check_order(checks, python, "one", r"libgpuprof_inject\.so", os.path.join(folder, "one"))
            check_order(checks, python, "per-client", r"(gpusim_cupti|libcupti)\.so",
                        os.path.join(folder, "per-client"))
        if checks.failed:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
