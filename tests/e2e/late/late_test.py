# SPDX-License-Identifier: Apache-2.0
"""The library comes into a training that has used CUDA and PyTorch for a while, on the simulated GPU:
what is recorded from then on, and what the program's own torch.profiler has before, during, after.

usage: late_test.py [--only NAME] [--keep FOLDER] [--layouts]"""

import argparse
import collections
import dataclasses
import glob
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "simgpu", "oracle"))
sys.path.append(os.path.join(HERE, "..", "torch_oracle"))
import differences  # noqa: E402
import read_truth  # noqa: E402
import run as runner  # noqa: E402
import torch_runs  # noqa: E402
import torch_trace  # noqa: E402
from run import WHOLE, e2e  # noqa: E402
from shares import Shares, check_kineto  # noqa: E402

PROGRAMS = os.path.join(HERE, "programs")
CAME_LATE = "GPU work launched before gpuprof attached is not in the trace"
NO_CPU_MEMORY = "PyTorch's memory on the CPU is not recorded"
SESSION = "the program's own CUPTI profiler"
# From dlopen to the first record (50 ms where the machine is quiet); around sessions of the program's own as in conflicts_test.py.
START_NS, AFTER_NS = 300_000_000, 2_500_000_000
# While the rate of a foreign clock is being learnt.
LEARNT_NS = 200_000
CUDA_DEVICE = 1


@dataclasses.dataclass
class Case:
    plan: str
    env: dict = dataclasses.field(default_factory=dict)
    sessions: int = 0  # of the program's own, as our trace should report
    memory: bool = False  # compared with the last session


CASES = {
    "alone": Case("train:1,load,train:2"),
    "before": Case("train:1,profile:1,load,train:2"),
    "during": Case("train:1,begin,load,train:1,end,train:3", sessions=1),
    "after": Case("train:1,load,train:1,profile:1,train:3", sessions=1),
    "twice": Case("train:1,profile:1,load,train:1,profile:1,train:3,profile:1,train:3", sessions=2),
    "teardown": Case("train:1,profile:1,load,train:1,profile:1,train:3", sessions=1,
                     env={"TEARDOWN_CUPTI": "1"}),
    "memory": Case("train:1,load,train:1,begin,train:1,end", sessions=1, memory=True),
}


def execute(python, case, folder, layout):
    env = dict(torch_runs.environment(), **case.env)
    sim_args = ["--cupti", "one", "--devices", "1", "--pytorch", "yes",
                "--log", os.path.join(folder, "cupti.%p.jsonl")]
    if layout:
        sim_args += ["--layout", layout]
    return runner.execute(folder, [python, os.path.join(PROGRAMS, "unprepared.py"),
                                   python, os.path.join(PROGRAMS, "training.py"),
                                   folder, e2e.LIBRARY, case.plan], sim_args, WHOLE, env)


def from_program(stderr):
    """What the program itself wrote: no line of gpuprof, none of Kineto's own about its sessions."""
    lines = [line for line in stderr.splitlines() if line and not line.startswith("gpuprof: ")]
    return [line for line in lines if not re.search(r"SyncActivityProfilerHandler\.cpp", line)]


def loaded_at(shares):
    (phase,) = [phase for phase in shares.phases if phase["what"] == "load"]
    return phase["asked_ns"]


def kinds_on(folder, pid, since_ns):
    """When the first and the last activity kind were switched on after a moment, before any of them is switched off;
    None if none was. A session that was on at that moment is over first."""
    (path,) = glob.glob(os.path.join(folder, "cupti.%d.jsonl" % pid))
    moments = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if '"cuptiActivityEnable' not in line and '"cuptiActivityDisable' not in line:
                continue
            row = json.loads(line.strip("\0\n"))
            if row["start"] <= since_ns:
                continue
            if row["f"].startswith("cuptiActivityDisable"):
                if moments:
                    break
                continue
            moments.append(row["start"])
    return (moments[0], moments[-1]) if moments else None


def back_ns(header):
    """How long after a session of the program's own we may be away: on a busy machine what the trace itself states."""
    reported = [int(ms) for text in header["missing"] for ms in re.findall(r"in the (\d+) ms.* between its end and gpuprof's return", text)]
    return max([AFTER_NS, *((ms + 10) * 1_000_000 for ms in reported)])


def check_ours(checks, name, case, shares, on_ns):
    sessions = [(p["asked_ns"], p["over_ns"] + back_ns(shares.header))
                for p in shares.phases if p["what"] == "profile"]
    lost = [op for op in shares.recorded.match.missing
            if shares.whole.calls[op.corr].start > on_ns + START_NS
            and not any(a <= shares.whole.calls[op.corr].start <= b for a, b in sessions)]
    checks.expect(not lost, "%s: %d records missing that began after us and outside of sessions, "
                  "first: %s" % (name, len(lost), lost[0].short() if lost else ""))
    failures = shares.other_failures()
    if any(phase["what"] == "profile" for phase in shares.phases):
        # PyTorch's profiler leaves CUPTI with a clock whose rate is learnt from then on.
        late_ns = max(abs(recorded.start - reference.start) for reference, recorded in shares.recorded.match.pairs)
        print("  starts within %.1f us" % (late_ns / 1000))
        checks.in_time(late_ns < LEARNT_NS, "%s: starts are off by up to %d ns" % (name, late_ns))
        for what in ("wrong start", "wrong start of call", "wrong order"):
            failures.pop(what, None)
    checks.equal(failures, {}, name + ": what we have is right")
    loaded = [number for number, phase in enumerate(shares.phases) if phase["what"] == "load"][0]
    if not case.memory:
        last = shares.rows[-1]
        checks.expect(last.what == "train" and last.recorded > 0 and loaded < len(shares.rows) - 1,
                      name + ": the last phase is ours")


def check_sentences(checks, name, case, shares, stderr):
    missing = shares.header["missing"]
    for message in (CAME_LATE, NO_CPU_MEMORY):
        checks.equal(sum(message in text for text in missing), 1, "%s: reported once: %s: %s"
                     % (name, message, missing))
    reported = sum(SESSION in text for text in missing)
    checks.expect(reported >= 1 if case.sessions else reported == 0,
                  "%s: sessions of the program's own in our trace: %s" % (name, missing))
    checks.equal(from_program(stderr), [], name + ": the program says nothing on stderr")


def check_torch(checks, name, shares, trace):
    """Operators, steps and memory from the moment on at which we came."""
    trained = [p for p in shares.phases if p["what"] == "train" and p["begin_ns"] > loaded_at(shares)]
    checks.expect(len(trace.steps) > 10, name + ": steps: %d" % len(trace.steps))
    for phase in trained[-1:]:
        inside = [o for o in trace.operators if phase["begin_ns"] <= o.start <= phase["end_ns"]]
        names = collections.Counter(o.name for o in inside)
        checks.expect(names["aten::addmm"] > 10 and names["AddmmBackward0"] > 10,
                      "%s: operators of forward and backward: %s" % (name, names.most_common(5)))
    checks.equal([o.name for o in trace.operators if o.end < o.start], [], name + ": ends")
    devices = {args["Device Type"] for _, args in trace.memory}
    checks.equal(devices, {CUDA_DEVICE}, name + ": devices whose memory was recorded")


def check_memory(checks, name, run, shares, trace):
    session = shares.phases[-1]
    kineto_trace = torch_trace.read_kineto(session["trace"], offset(run, shares))

    def rows(memory):
        return [differences.record(args) for t, args in memory
                if session["begin_ns"] <= t <= session["end_ns"]
                and args.get("Device Type") == CUDA_DEVICE]

    a, b = rows(kineto_trace.memory), rows(trace.memory)
    checks.expect(len(a) > 100, name + ": torch.profiler saw memory of the device: %d" % len(a))
    checks.expect(a == b, "%s: records of memory: theirs %d, ours %d, missing %d, extra %d" % (
        name, len(a), len(b), sum((collections.Counter(a) - collections.Counter(b)).values()),
        sum((collections.Counter(b) - collections.Counter(a)).values())))
    print("  memory of the device: %d records, the same in both: %s" % (len(a), a == b))


def offset(run, shares):
    """CLOCK_REALTIME minus CLOCK_MONOTONIC of the run, as the simulator saw it."""
    header = next(iter(read_truth.rows(run.reference[shares.pid])))
    return header["realtime_ns"] - header["monotonic_ns"]


def check(checks, python, name, folder, layout=None):
    case = CASES[name]
    run = execute(python, case, folder, layout)
    if not checks.equal(run.status, 0, "%s: %s" % (name, run.explain())):
        return
    shares = Shares(run)
    print("--- " + name + (", CUPTI of CUDA " + layout if layout else ""))
    for share in shares.rows:
        print("  " + share.row())
    if not checks.expect(shares.recorded, name + ": we wrote a trace: " + run.explain()):
        return
    came_ns = loaded_at(shares)
    trace = torch_trace.read_gpuprof(run.recorded[shares.pid])
    on = kinds_on(folder, shares.pid, came_ns)
    if not checks.expect(on, name + ": kinds were switched on"):
        return
    on_ns, all_on_ns = on
    if "begin" not in case.plan.split("load")[0]:
        print("  %.1f ms from dlopen to the first kind" % ((on_ns - came_ns) / 1e6))
        checks.in_time(on_ns - came_ns < START_NS, "%s: CUPTI was on after %.1f ms"
                      % (name, (on_ns - came_ns) / 1e6))
    sys.stdout.flush()
    check_kineto(checks, name, shares)
    check_ours(checks, name, case, shares, all_on_ns)
    check_sentences(checks, name, case, shares, run.stderr)
    if case.memory:
        check_memory(checks, name, run, shares, trace)
    else:
        check_torch(checks, name, shares, trace)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="one of: " + ", ".join(CASES))
    parser.add_argument("--keep")
    parser.add_argument("--python")
    parser.add_argument("--layouts", action="store_true", help="as CUPTI is in older releases, too")
    wanted = parser.parse_args()
    python = torch_runs.require_torch(wanted.python)
    layouts = ("12.9", "13.0", "13.2") if wanted.layouts else (None,)
    checks = e2e.Checks()
    with e2e.Folder("late") as folder:
        folder = wanted.keep or folder
        for layout in layouts:
            for name in CASES:
                if wanted.only in (None, name):
                    check(checks, python, name, os.path.join(folder, name + (layout or "")), layout)
        if checks.failed:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
