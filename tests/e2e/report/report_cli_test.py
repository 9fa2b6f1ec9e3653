# SPDX-License-Identifier: Apache-2.0
"""`gpuprof report` as a person calls it: tables, CSV, JSON, ranks, steps, and what it refuses."""

import csv
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402


def report(*arguments, **keywords):
    keywords.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([e2e.GPUPROF, "report", *arguments], stderr=subprocess.PIPE, text=True,
                          timeout=600, **keywords)


def trace(rank, slower=0):
    """Two steps of one rank: an operator, its launch, its kernel."""
    events = []
    for step in range(2):
        at = 100.0 + step * 1000
        ids, correlation = 10 * step + 1, 50 + step
        linked = {"External id": ids + 1, "correlation": correlation}
        host = {"ph": "X", "pid": 4000 + rank, "tid": 4000 + rank}
        events += [
            dict(host, cat="user_annotation", name=f"ProfilerStep#{step + 7}", ts=at,
                 dur=900.0 + slower, args={"External id": ids}),
            dict(host, cat="cpu_op", name="aten::mm", ts=at + 10, dur=100.0,
                 args={"External id": ids + 1}),
            dict(host, cat="cuda_runtime", name="cudaLaunchKernel", ts=at + 20, dur=10.0,
                 args=dict(linked, cbid=211)),
            {"ph": "X", "cat": "kernel", "name": "gemm, \"fast\"", "pid": 0, "tid": 7,
             "ts": at + 200, "dur": 400.0 + slower, "args": dict(
                 linked, device=0, context=1, stream=7, grid=[4, 1, 1], block=[128, 1, 1])},
        ]
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank,
                                                    "world_size": 2}, "traceEvents": events}


def write(folder, rank, **more):
    path = os.path.join(folder, f"node_{4000 + rank}.1700000000000000000.pt.trace.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(trace(rank, **more), out)
    return path


def tables(checks, folder):
    one = write(folder, 0)
    write(folder, 1, slower=50)
    overview = report(one)
    for word in ("Recorded", "Steps     2 of 2", "Kernel", "gemm", "aten::mm", "rank 0"):
        checks.expect(word in overview.stdout, f"the overview says {word!r}")
    checks.expect(max(map(len, overview.stdout.splitlines())) <= 120, "it is 120 columns wide")
    checks.equal(overview.stderr, "", "nothing on stderr")
    rows = list(csv.DictReader(io.StringIO(report("--by", "kernel", "--csv", one).stdout)))
    checks.equal([(r["total_ns"], r["count"], r["name"]) for r in rows],
                 [("800000", "2", 'gemm, "fast"')], "kernels as CSV")
    rows = list(csv.DictReader(io.StringIO(
        report("--by", "step", "--csv", "--columns", "step,time_ns,kernels", folder).stdout)))
    checks.equal([(r["rank"], r["step"], r["time_ns"]) for r in rows],
                 [("0", "7", "900000"), ("0", "8", "900000"), ("1", "7", "950000"),
                  ("1", "8", "950000")], "steps of both ranks")
    everything = json.loads(report("--json", folder).stdout)
    checks.equal([p["rank"] for p in everything["processes"]], [0, 1], "ranks in JSON")
    checks.equal(everything["processes"][1]["tables"]["gpu"][0]["kernels"], 2, "tables in JSON")
    checks.equal(report("--rank", "1", "--by", "step", folder).stdout.count("950.000us"), 2,
                 "one rank")
    only = json.loads(report("--json", "--by", "kernel", "--step", "8", one).stdout)
    checks.equal(only["processes"][0]["rows"][0]["count"], 1, "one step")
    checks.expect("(1 more row;" in report("--by", "step", "--row-limit", "1", one).stdout,
                  "what is left out is said")


def refusals(checks, folder):
    good = write(folder, 0)
    cut = os.path.join(folder, "cut.json")
    with open(good, "rb") as whole, open(cut, "wb") as out:
        out.write(whole.read()[:900])
    empty = os.path.join(folder, "empty.json")
    with open(empty, "w", encoding="utf-8") as out:
        out.write('{"traceEvents": []}')
    bad = [([], "report needs"), ([cut], "cut.json"), ([empty], ""),
           ([os.path.join(folder, "none")], "none"), (["--by", "kernels", good], "did you mean"),
           (["--sort-by", "speed", good], "keys are"),
           (["--by", "kernel", "--sort-by", "speed", good], "no column 'speed'"),
           (["--by", "kernel", "--columns", "a,b", good], "no column 'a'"),
           (["--rank", "9", good], "no process has rank 9"), (["--step", "99", good], "no step"),
           (["--step", "5-3", good], "ends before it begins"), (["--step", "x", good], "--step"),
           (["--row-limit", "-1", good], "--row-limit"), (["--json", "--csv", good], "cannot be combined")]
    for arguments, word in bad:
        done = report(*arguments)
        checks.expect(done.returncode != 0, f"{arguments[:-1]} fails")
        checks.equal(done.stdout, "", f"{arguments[:-1]} prints nothing on stdout")
        checks.expect(done.stderr.count("\n") == 1 and word in done.stderr,
                      f"{arguments[:-1]} says one message with {word!r}: {done.stderr}")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = report(good, stdout=full)
    checks.expect(done.returncode != 0 and "stdout" in done.stderr, "a full stdout is reported")


def main():
    checks = e2e.Checks()
    with e2e.Folder("report-cli") as folder:
        for name, test in (("tables", tables), ("refusals", refusals)):
            os.mkdir(os.path.join(folder, name))
            test(checks, os.path.join(folder, name))
    checks.done()


if __name__ == "__main__":
    main()
