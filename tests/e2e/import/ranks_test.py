# SPDX-License-Identifier: Apache-2.0
"""Traces of several ranks in one file, as people's scripts merge them: numbers of launches, operators and
arrows repeat, and each rank's kernels go to that rank's operators. Python frames nest by their ids, and
rounded times give no negative figure."""

import re
import sys

import e2e
from made_traces import Report, run, save, x

STEPS = 4


def rank(number, op, kernel, length, host_pid=10, gpu_pid=0, late=0):
    """One rank: steps, an operator, its launch, its kernel; the same numbers in each rank."""
    events = []
    for n in range(STEPS):
        at = 1000 + 1000 * n + 3 * number
        events += [
            x("user_annotation", "ProfilerStep#%d" % n, at, 900, host_pid, 10, External__id=100 * n + 1),
            x("cpu_op", op, at + 10, 100, host_pid, 10, External__id=100 * n + 2, Sequence__number=n),
            x("cuda_runtime", "cudaLaunchKernel", at + 20, 10, host_pid, 10, External__id=100 * n + 2,
              correlation=n + 5, cbid=211),
            x("kernel", kernel, at + 200 + late, length, gpu_pid, 7, External__id=100 * n + 2, device=0, context=1,
              stream=7, correlation=n + 5, grid=[1, 1, 1], block=[32, 1, 1])]
    return events


RANKS = ((0, "aten::mm", "gemm0", 300), (1, "aten::bmm", "gemm1", 100), (2, "aten::addmm", "gemm2", 50))


def labelled(label):
    events = []
    for number, op, kernel, length in RANKS:
        for event in rank(number, op, kernel, length):
            events.append(dict(event, pid=label % (number, event["pid"])))
    return events


def shifted(by, first=4000):
    """Pids moved apart by the rank, device rows too."""
    events = []
    for number, op, kernel, length in RANKS:
        for event in rank(number, op, kernel, length, first + number):
            events.append(dict(event, pid=event["pid"] + number * by))
    return events


def shifted_but_zero(gpu_pid):
    """The same by a script that takes pid 0 for none."""
    events = []
    for number, op, kernel, length in RANKS:
        for event in rank(number, op, kernel, length, 4000 + number, gpu_pid(number)):
            events.append(dict(event, pid=event["pid"] and event["pid"] + number * 1_000_000))
    return events


def joined(gpu_pid):
    """Lists one after the other: processes have numbers of their own, devices may not."""
    events = []
    for number, op, kernel, length in RANKS:
        events += rank(number, op, kernel, length, 1000 + number, gpu_pid(number))
    return events


def by_time(events):
    return sorted(events, key=lambda event: event["ts"])


FILES = {
    "[TP0] 10": labelled("[TP%d] %d"),
    "[TP00-PP0] 10": labelled("[TP%02d-PP0] %d"),
    "rank0_10": labelled("rank%d_%d"),
    "rank 0: 10": labelled("rank %d: %d"),
    "[TP0] 10, by time": by_time(labelled("[TP%d] %d")),
    "pids moved by 1000000": shifted(1_000_000),
    "pids moved by 1000000, by time": by_time(shifted(1_000_000)),
    "[TP00 10]": labelled("[TP%02d %d]"),
    "pids moved by 1000000 but 0": shifted_but_zero(lambda number: 0),
    "pids moved by 1000000 but 0, a device each": shifted_but_zero(lambda number: number),
    "one list, one device row": joined(lambda number: 0),
    "one list, a device row each": joined(lambda number: number),
    "one list, a device row each, by time": by_time(joined(lambda number: number)),
    "one list, one device row, by time": by_time(joined(lambda number: 0)),
}


def ranks(checks, folder):
    for name, events in FILES.items():
        report = Report(checks, save(folder, "merged.json", events,
                                     distributedInfo={"backend": "nccl", "rank": 0, "world_size": 3},
                                     deviceProperties=[{"id": 0, "name": "Test GPU", "numSms": 10}]))
        checks.equal(len(report.processes), 3, name + ": processes")
        got = {}
        for process in range(len(report.processes)):
            kernels = {row["name"]: row["total_ns"] for row in report.rows("kernel-name", process)}
            ops = {row["name"]: row["self_device_time_total_ns"] for row in report.rows("operator", process)
                   if row["name"].startswith("aten::")}
            got.update({op: (ns, kernels) for op, ns in ops.items()})
        wanted = {op: (STEPS * length * 1000, {kernel: STEPS * length * 1000})
                  for _, op, kernel, length in RANKS}
        checks.equal(got, wanted, name + ": kernels of each rank's operators")
        checks.equal([len(process["tables"]["step"]) for process in report.processes], [STEPS] * 3,
                     name + ": steps of each")
        found_ranks = sorted(process.get("rank", -1) for process in report.processes)
        single = name.startswith(("[TP0]", "[TP00 1", "rank"))
        checks.equal(found_ranks, [0, 1, 2] if single else [-1, -1, -1], name + ": ranks")


def one_rank_of_it(checks, folder):
    path = save(folder, "merged.json", FILES["[TP0] 10"])
    report = Report(checks, path, "--rank", "1")
    checks.equal([row["name"] for row in report.rows("kernel-name")], ["gemm1"], "--rank 1")
    out = run("export", path, "-o", folder + "/ranks", "-f")
    checks.equal(len(out.stdout.split()), 3, "a file for each rank: " + out.stderr)


def frame(name, start, length, number, parent):
    return x("python_function", name, start, length, 10, 10, Python__id=number, Python__parent__id=parent)


def orphans(checks, folder):
    """A call whose return was never recorded ends with its caller, or where the ids say so."""
    lock = "<built-in method acquire of _thread.lock object>"
    forms = {
        "in a caller that ended": (1100, 400, 2),
        "in a caller that goes on": (1100, 8900, 2),
    }
    for name, (start, length, parent) in forms.items():
        ids = {"with ids": True, "without ids": False}
        for how, given in ids.items():
            if not given and length > 1000:
                continue
            events = [frame("/w/train.py(1): <module>", 1000, 9000, 1, None),
                      frame("/w/train.py(10): load", start, length, 2, 1), frame(lock, 1200, 8800, 3, parent),
                      frame("/w/train.py(20): forward", 2000, 1000, 4, 2 if length > 1000 else 1),
                      x("cpu_op", "aten::mm", 2100, 100, 10, 10, External__id=1),
                      frame("/w/train.py(30): backward", 4000, 1000, 5, 1),
                      x("cpu_op", "aten::relu", 4100, 100, 10, 10, External__id=2)]
            if not given:
                for event in events:
                    event["args"] = {}
            report = Report(checks, save(folder, "orphan.json", events, with_stack=1))
            checks.equal(sorted((row["name"], row["line"]) for row in report.rows("site")),
                         [("aten::mm", "/w/train.py:20"), ("aten::relu", "/w/train.py:30")],
                         "%s, %s: lines" % (name, how))
            out = run("export", folder + "/orphan.json", "--format", "folded", "-o", folder + "/o.folded", "-f")
            with open(out.stdout.strip(), encoding="utf-8") as file:
                later = [line for line in file if "aten::" in line and "acquire" in line]
            checks.equal(later, [], "%s, %s: the orphan is in no stack" % (name, how))


def rounded(checks, folder):
    """Begin and length in whole microseconds: what ends a microsecond late still lies inside."""
    forms = {
        "a child": [("outer", 10, 20), ("inner", 12, 19)],
        "a child and its sibling": [("top", 10, 11), ("outer", 10, 10), ("inner", 11, 10)],
        "a chain": [("top", 100, 10), ("a", 101, 9), ("b", 102, 9), ("c", 103, 9)],
        "overlapping by more": [("top", 200, 30), ("left", 200, 20), ("right", 210, 20)],
    }
    for name, ops in forms.items():
        for fraction in (0, 0.25):
            events = [x("cpu_op", op, start + fraction, length, External__id=n + 1)
                      for n, (op, start, length) in enumerate(ops)]
            report = Report(checks, save(folder, "rounded.json", events))
            rows = report.rows("operator")
            selves = {row["name"]: row["self_cpu_time_total_ns"] for row in rows}
            checks.expect(all(ns >= 0 for ns in selves.values()), "%s: own times %s" % (name, selves))
            longest = max(start + length for _, start, length in ops) - min(start for _, start, _ in ops)
            if name != "overlapping by more" and fraction == 0:
                checks.expect(sum(selves.values()) <= (longest + 1) * 1000,
                              "%s: own times add up to the time there was: %s" % (name, selves))
            text = run("report", "--by", "operator", folder + "/rounded.json").stdout
            checks.expect(not re.search(r"-\d", text), name + ": no negative share:\n" + text)
            shares = [float(line.split()[1][:-1]) for line in text.splitlines() if line.count("%") == 2
                      and "Self" not in line]
            checks.expect(abs(sum(shares) - 100) < 0.1, "%s: shares add up: %s" % (name, shares))


def main():
    checks = e2e.Checks()
    with e2e.Folder("import-ranks") as folder:
        for test in (ranks, one_rank_of_it, orphans, rounded):
            test(checks, folder)
        return checks.done()


if __name__ == "__main__":
    sys.exit(main())
