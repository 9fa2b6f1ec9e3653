# SPDX-License-Identifier: Apache-2.0
"""What our files hold of PyTorch programs that are killed, have threads, workers, ranks, or ranges
that do not nest.

usage: trace_test.py [--only NAME,…]"""

import argparse
import collections
import json
import os
import sys

import e2e
import torch_programs as programs
import torch_trace

WHOLE = ["--span-size", "100000000"]
BORDER_NS = 60_000_000  # so near to a boundary either side is right


class Recorded:
    """One run of a program: its output, the traces, the summary."""

    def __init__(self, folder, options, line):
        self.out = os.path.join(folder, "out")
        summary = os.path.join(folder, "summary.json")
        self.done = programs.run_profiled(["-f", "-o", self.out, "--summary-json", summary, *options], line)
        with open(summary, encoding="utf-8") as file:
            self.summary = json.load(file)
        self.traces = [e2e.load(path) for path in e2e.traces(self.out)]
        self.operators = [e for t in self.traces for e in t["traceEvents"]
                          if e.get("cat") == "cpu_op" and e["ph"] == "X"]
        self.crossing = collections.Counter(
            e["name"] for t in self.traces for e in t["traceEvents"]
            if e.get("cat") == "torch_crossing" and e["ph"] == "b")
        self.names = collections.Counter(e["name"] for e in self.operators)

    def roles(self):
        return collections.Counter(p["role"] for p in self.summary["processes"])


def not_nested(operators):
    """Pairs on one thread of which one begins inside the other and ends after it."""
    rows = collections.defaultdict(list)
    for e in operators:
        rows[e["pid"], e["tid"]].append((e["ts"], -e["dur"], e["name"]))
    for row in rows.values():
        open_ = []
        for start, minus, name in sorted(row):
            while open_ and open_[-1][0] <= start:
                open_.pop()
            if open_ and start - minus > open_[-1][0] + 0.001:
                yield name, open_[-1][1]
            open_.append((start - minus, name))


def killed(checks, python, folder):
    run = Recorded(folder, WHOLE, programs.command(python, "killed.py", "40"))
    checks.equal(run.done.returncode, -9, "killed: status")
    for step in range(41):
        checks.equal(run.names["step %d" % step], 1, "killed: range of step %d" % step)
    checks.equal(run.names["aten::lgamma"], 1, "killed: the last operator before the end")
    checks.equal(run.names["aten::erfinv"], 41, "killed: an operator of each step")
    checks.expect(run.summary["processes"][0]["allocations"] > 100, "killed: memory records")


def threads(checks, python, folder):
    run = Recorded(folder, WHOLE, programs.command(python, "threads.py"))
    where = collections.defaultdict(set)
    for e in run.operators:
        where[e["name"]].add(e["tid"])
    lines = run.done.stdout.decode().split()
    printed = dict(zip(lines[::2], map(int, lines[1::2])))
    checks.equal(len(printed), 3, "threads: lines of the program")
    for name, tid in printed.items():
        checks.equal(where[name], {tid}, "threads: " + name)
        checks.expect(run.names[name] > 100, "threads: enough of " + name)
    checks.equal(where["AsinhBackward0"], {printed["aten::erf"]}, "threads: the backward")


def ranges(checks, python, folder):
    rounds = 30
    run = Recorded(folder, WHOLE, programs.command(python, "ranges.py", str(rounds)))
    checks.equal(run.done.returncode, 0, "ranges: status")
    drops = dict(run.summary["drops_by_reason"])
    for of_samples in ("thread resumed while it was being unwound", "thread blocks the sampling signal"):
        drops.pop(of_samples, None)
    checks.equal(drops, {}, "ranges: drops")
    whole = run.names + run.crossing
    for name, count in {"aten::mm": 50, "generator one": 1, "generator two": 1, "inner": 1,
                        "generator left open": 1, "ended by a future": 1, "outer": 1}.items():
        checks.equal(whole[name], count * rounds, "ranges: " + name)
    checks.expect(run.names["aten::sin"] >= 3 * rounds, "ranges: operators of TorchScript")
    checks.expect(run.names["DoubledBackward"] == rounds, "ranges: a backward of the program's own")
    checks.equal(list(not_nested(run.operators))[:3], [], "ranges: operators nest")
    checks.expect(run.crossing["generator one"] == rounds, "ranges: what does not nest is separate")


def remote_ranges(trace):
    """(name, begin, end, marks) of every remote…, in ns; however it is drawn."""
    zero, begins = trace["gpuprof"]["window"]["start_ns"] - torch_trace.MARGIN_NS, {}
    for e in trace["traceEvents"]:
        if not str(e.get("name")).startswith("remote"):
            continue
        at = zero + round(e["ts"] * 1000)
        if e["ph"] == "X":
            yield e["name"], at, at + round(e["dur"] * 1000), e["args"]
        elif e["ph"] == "b":
            begins[e["id"]] = at
        elif e["ph"] == "e":
            yield e["name"], begins.pop(e["id"]), at, e["args"]


def one_future(checks, case, printed, found, window):
    """A range is no longer than it was, and what is shorter says so."""
    name, begin, end, marks = found
    before, began, ending, ended = printed[name]
    # What began before the window is drawn from a little before it, outer ranges first.
    earliest = max(before, window["start_ns"]) if before > window["start_ns"] else \
        window["start_ns"] - torch_trace.MARGIN_NS
    checks.expect(earliest <= begin <= max(began, window["start_ns"]),
                  "%s: %s begins where it began" % (case, name))
    checks.expect(begin <= end, "%s: %s has no negative length" % (case, name))
    open_ = marks.get("unfinished") or marks.get("cut at window")
    if open_:
        checks.expect(ended == 0 or end <= ended, "%s: %s ends before it ended" % (case, name))
    else:
        checks.expect(ending <= end <= ended, "%s: %s ends %d ns from where it ended, %s"
                      % (case, name, end - ending, marks))
    return bool(open_)


def recorded_futures(checks, output, case, options, python):
    """A run of the program, and what it printed about its ranges."""
    os.makedirs(output)
    run = Recorded(output, options, programs.command(python, "futures.py", "2.5"))
    checks.equal(run.done.returncode, 0, case + ": " + run.done.stderr.decode()[-800:])
    printed = {name: tuple(map(int, moments)) for name, *moments in
               (line.split() for line in run.done.stdout.decode().splitlines())}
    checks.equal([e["name"] for t in run.traces for e in t["traceEvents"] if e.get("dur", 0) < 0],
                 [], case + ": negative times")
    checks.expect(run.names["aten::cos"] > 1000, case + ": what was forked")
    return run, printed


def futures(checks, python, folder):
    run, printed = recorded_futures(checks, os.path.join(folder, "whole"), "whole", WHOLE, python)
    open_, closed = set(), set()
    for trace in run.traces:
        for found in remote_ranges(trace):
            shorter = one_future(checks, "whole", printed, found, trace["gpuprof"]["window"])
            (open_ if shorter else closed).add(found[0])
    never = {name for name, moments in printed.items() if moments[2] == 0}
    checks.expect(len(never) >= 5 and not never & closed, "whole: ranges that never end")
    checks.equal(closed, set(printed) - never, "whole: ranges that end")
    checks.equal(open_, never, "whole: ranges without an end")


# Recording goes off between two windows, or on from one to the next.
WINDOWS = {"apart": ["--wait", "200ms", "--active", "400ms", "--repeat", "0"],
           "adjoining": ["--active", "300ms", "--repeat", "0"]}


def drawn_in(checks, case, printed, trace):
    """Ranges of a window, each at most once and as far as it lies there; counts what the case is of."""
    window, seen = trace["gpuprof"]["window"], collections.Counter()
    start = window["start_ns"]
    end, dropped = start + window["duration_ns"], json.dumps(trace["gpuprof"]["dropped"])
    drawn = {found[0]: found for found in remote_ranges(trace)}
    checks.equal(len(list(remote_ranges(trace))), len(drawn), case + ": each range once")
    # The program may have ended as the window began.
    lived = start + BORDER_NS < max(max(moments) for moments in printed.values())
    for name, (before, began, ending, ended) in printed.items():
        outside = before > end or (ended != 0 and ended < start)
        if name not in drawn:
            # What began while nothing was recorded is not known; nor what began at the boundary.
            known = lived and not outside and "ring full" not in dropped \
                and (case == "adjoining" or before > start + BORDER_NS) \
                and end - began > BORDER_NS and (ended == 0 or ending - start > BORDER_NS)
            checks.expect(not known, "%s: window %d has no %s (dropped: %s)"
                          % (case, window["index"], name, dropped))
            continue
        checks.expect(not outside, "%s: %s, which lasted from %d to %d, is in window %d, from %d to %d: %s"
                      % (case, name, before, ended, window["index"], start, end, drawn[name][1:]))
        shorter = one_future(checks, case, printed, drawn[name], window)
        over = began < start or ended == 0 or ending > end
        checks.expect(shorter or not over, "%s: %s is cut and says so" % (case, name))
        checks.expect(drawn[name][2] <= end + BORDER_NS, "%s: %s is cut at the boundary" % (case, name))
        seen["began before"] += began < start
        seen["ended later"] += ended > end
        seen["whole"] += not shorter
    return seen


def future_windows(checks, python, folder):
    for case, options in WINDOWS.items():
        run, printed = recorded_futures(checks, os.path.join(folder, case), case, options, python)
        seen = collections.Counter()
        for trace in run.traces:
            seen += drawn_in(checks, case, printed, trace)
        checks.expect(len(run.traces) >= 3 and seen["ended later"] >= 5, "%s: %s" % (case, seen))
        if case == "adjoining":
            checks.expect(seen["began before"] >= 5, "%s: %s" % (case, seen))
        print(case, dict(seen))


def cells(checks, python, folder):
    """Code that takes the place of other code in memory keeps its own file, lines and loops."""
    run = Recorded(folder, WHOLE, programs.command(python, "cells.py"))
    frames = {e["args"]["Concrete Inputs"][0]: e["args"]["Call stack"].split(";")[0]
              for e in run.operators if e["name"] == "aten::ones"}
    for k in range(1, 60):
        checks.equal(frames.get("[%d]" % k), "<cell-%d>(%d): <module>" % (k, k), "cells: cell")
    for k in range(100, 160):
        checks.equal(frames.get("[%d]" % k), "made.py(%d): made" % (k - 98), "cells: function")
    lines = [int(e["args"]["Call stack"].split(";")[1].split("(")[1].split(")")[0])
             for size in (200, 201) for e in run.operators
             if e["name"] == "aten::ones" and e["args"]["Concrete Inputs"][0] == "[%d]" % size]
    checks.expect(len(lines) == 2 and lines[1] == lines[0] + 1, "cells: in a quick range: %s" % lines)
    checks.equal(len(run.traces), 1, "cells: files")
    text = json.dumps(run.summary)
    checks.expect("12 iterations of the loop at <train-3>:6" in text,
                  "cells: the last loop is one of its own: " + text)


def workers(checks, python, folder):
    for how in ("fork", "spawn"):
        output = os.path.join(folder, how)
        os.makedirs(output)
        run = Recorded(output, WHOLE, programs.command(python, "workers.py", how))
        checks.equal(run.done.stdout, b"288 samples\n", how + " workers: stdout")
        checks.equal(len(run.traces), 1, how + " workers: files")
        served = [p for p in run.summary["processes"]
                  if p["role"] == "helper" and p["operators"] > 100]
        checks.equal(len(served), 2, how + " workers: counted in the summary")
    output = os.path.join(folder, "all")
    os.makedirs(output)
    run = Recorded(output, [*WHOLE, "--all-processes"],
                   programs.command(python, "workers.py", "fork"))
    active = [t for t in run.traces
              if any(e["name"] == "aten::sigmoid" and e.get("cat") == "cpu_op"
                     for e in t["traceEvents"])]
    checks.equal(len(active), 2, "--all-processes: files of workers")


def ranks(checks, python, folder):
    line = [python, "-m", "torch.distributed.run", "--nproc-per-node", "2",
            *programs.command(python, "two_ranks.py", "fork")[1:]]
    run = Recorded(folder, WHOLE, line)
    checks.equal(run.done.returncode, 0, "ranks: " + run.done.stderr.decode()[-800:])
    printed = sorted((t.get("distributedInfo", {}).get("rank"), t["distributedInfo"]["world_size"],
                      t["distributedInfo"]["backend"]) for t in run.traces if "distributedInfo" in t)
    checks.equal(printed, [(0, 2, "gloo"), (1, 2, "gloo")], "ranks: files")
    checks.equal(len(run.traces), 2, "ranks: no other files")
    checks.equal(run.roles()["traced"], 2, "ranks: traced")
    checks.equal(run.roles()["launcher"], 1, "ranks: launcher")
    checks.expect(run.names["gloo:all_reduce"] > 0 or any(
        str(e.get("name")).startswith("gloo:") for t in run.traces for e in t["traceEvents"]),
        "ranks: communication is in the files")
    one, other = (len([e for e in t["traceEvents"] if e.get("name") == "aten::cross_entropy_loss"])
                  for t in run.traces)
    checks.equal((one, other), (32, 32), "ranks: whole training of each")


def spans(checks, python, folder):
    """Two ranks with two loader workers each, cut into several files: at the same steps."""
    line = [python, "-m", "torch.distributed.run", "--nproc-per-node", "2",
            *programs.command(python, "two_ranks.py", "fork")[1:]]
    windows = ["--wait", "2", "--warmup", "1", "--active", "3", "--repeat", "2"]
    for case, options in {"windows": windows, "sizes": ["--span-size", "1500"]}.items():
        output = os.path.join(folder, case)
        os.makedirs(output)
        run = Recorded(output, options, line)
        checks.equal(run.done.returncode, 0, case + ": " + run.done.stderr.decode()[-800:])
        of_rank = collections.defaultdict(list)  # labels of each file's steps, by time
        for trace in sorted(run.traces, key=lambda t: t["gpuprof"]["window"]["start_ns"]):
            of_rank[trace["distributedInfo"]["rank"]].append(
                [s.label for s in torch_trace.steps_of(trace)])
        checks.equal(sorted(of_rank), [0, 1], case + ": workers in the viewer")
        checks.equal(of_rank[0], of_rank[1], case + ": steps in each file of both ranks")
        if case == "windows":
            checks.equal(of_rank[0], [[4, 5, 6], [10, 11, 12]], case + ": steps")
        else:
            whole = [label for labels in of_rank[0] for label in labels]
            checks.equal(whole, list(range(1, 33)), case + ": every step in one file")
            checks.expect(len(of_rank[0]) >= 2, case + ": files %s" % of_rank[0])
        print("spans, %s: steps of each file %s" % (case, of_rank[0]), flush=True)


CASES = {case.__name__: case for case in (killed, threads, ranges, futures, future_windows, cells, workers,
                                          ranks, spans)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(CASES))
    python = programs.python_with_torch()
    checks = e2e.Checks()
    with e2e.Folder("torch-trace") as folder:
        for name in parser.parse_args().only.split(","):
            output = os.path.join(folder, name)
            os.makedirs(output)
            before = checks.failed
            CASES[name](checks, python, output)
            print("%s: %s" % (name, "ok" if checks.failed == before else "FAILED"), flush=True)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
