# SPDX-License-Identifier: Apache-2.0
"""One recording in every format: each reader must find what the TensorBoard file holds.

usage: formats_test.py [--only CASE,…]
Cases: python (no CUDA, no PyTorch), trainer (on the simulated GPU), scripted (ranges that cross, several
threads and devices), torch (on the CPU), cuda (PyTorch on the simulated GPU)."""

import argparse
import collections
import csv
import glob
import os
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "simgpu", "oracle"))
import e2e  # noqa: E402
import sim  # noqa: E402
import torch_runs  # noqa: E402
import viewers  # noqa: E402

SUFFIXES = {"perfetto": ".pftrace", "pprof": ".pb.gz", "speedscope": ".speedscope.json",
            "folded": ".folded", "sqlite": ".sqlite", "csv": ".csv"}
FORMATS = "tensorboard," + ",".join(SUFFIXES)
# Categories of GPU rows, and what the tables call them.
GPU = {"kernel": ("CUPTI_ACTIVITY_KIND_KERNEL", "kernel"), "gpu_memcpy": ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy"),
       "gpu_memset": ("CUPTI_ACTIVITY_KIND_MEMSET", "memset")}
QUERIES = {
    "slices": "select category, count(*) n, sum(dur) ns, sum(dur < 0) broken from slice group by 1",
    "arrows": "select i.category, count(*) n from flow join slice i on i.id = slice_in group by 1",
    "counters": "select t.name, count(*) n, min(value) least, max(value) most from counter c "
                "join track t on t.id = c.track_id group by 1",
    "begins": "select (select clock_value from clock_snapshot where clock_name = 'REALTIME') - "
              "(select clock_value from clock_snapshot where clock_name = 'MONOTONIC') + min(ts) ns from slice",
    "rows": "select t.name, s.name slice, s.dur from slice s join track t on t.id = s.track_id "
            "where t.name = 'spans' or s.category = 'nvtx_span'",
    "threads": "select t.tid, count(*) n from thread_track r join thread t using (utid) "
               "join slice s on s.track_id = r.id where s.category in ('cpu_op', 'user_annotation', 'nvtx', "
               "'cuda_runtime', 'cuda_driver', 'enclosing') group by 1",
    "flow_times": "select count(*) n from flow f join slice o on o.id = slice_out join slice i on i.id = slice_in "
                  "where i.ts < o.ts",
}


class Expected:
    """What a TensorBoard file says."""

    def __init__(self, path):
        loaded = e2e.load(path)
        events = loaded["traceEvents"]
        self.begins_ns = loaded["baseTimeNanoseconds"]
        self.head = loaded["gpuprof"]
        self.counted = collections.Counter(self.head["events"])
        self.complete = collections.Counter(e["cat"] for e in events if e["ph"] == "X")
        self.ns = collections.Counter()
        for e in events:
            if e["ph"] == "X":
                self.ns[e["cat"]] += round(e["dur"] * 1000)
        self.arrows = sum(e["ph"] == "f" and e["cat"] == "ac2g" for e in events)
        self.backward = sum(e["ph"] == "f" and e["cat"] == "fwdbwd" for e in events)
        self.memory = sum(e.get("name") == "[memory]" for e in events)
        self.graphs = sum(e["ph"] == "X" and e["name"].startswith("CUDA graph ") for e in events)

    @property
    def kernels(self):
        return self.complete["kernel"] - self.graphs


def check_perfetto(checks, what, path, expected):
    found = viewers.perfetto(path, **QUERIES)
    if found is None:
        return checks.skip("Perfetto's reader is not installed: it needs scripts/setup --viewers and Node")
    checks.equal(found["losses"], [], what + ": could not be imported")
    slices = {row["category"]: row for row in found["slices"]}
    for category in GPU:
        wanted = expected.kernels if category == "kernel" else expected.complete[category]
        row = slices.get(category, {"n": 0, "ns": 0})
        checks.equal(row["n"], wanted, "%s: %s" % (what, category))
        if not expected.graphs:
            checks.equal(row["ns"] or 0, expected.ns[category], "%s: ns of %s" % (what, category))
    checks.equal(sum(row["broken"] for row in slices.values()), 0, what + ": slices without an end")
    calls = sum(slices.get(name, {"n": 0})["n"] for name in ("cuda_runtime", "cuda_driver", "inner_call"))
    checks.equal(calls, expected.counted["API calls"], what + ": calls")
    arrows = {row["category"]: row["n"] for row in found["arrows"]}
    on_gpu = sum(arrows.get(name, 0) for name in (*GPU, "cuda_graph"))
    checks.equal(on_gpu, expected.arrows, what + ": arrows to the GPU")
    checks.equal(sum(arrows.values()) - on_gpu, expected.backward, what + ": arrows to the backward pass")
    checks.equal(found["flow_times"], [{"n": 0}], what + ": arrows that go back in time")
    counters = {row["name"]: row for row in found["counters"]}
    allocated = sum(row["n"] for name, row in counters.items() if name.startswith("memory allocated"))
    checks.equal(allocated, expected.memory, what + ": memory records")
    for name, row in counters.items():
        if name.startswith("work in flight"):
            checks.expect(row["least"] == 0 and row["most"] >= 1, "%s: %s" % (what, row))
    checks.equal(slices.get("step", {"n": 0})["n"], expected.counted["steps"], what + ": steps")
    begins = found["begins"][0]["ns"]
    checks.expect(abs(begins - expected.begins_ns) < 2_000_000, "%s: wall time %d, should be %d"
                  % (what, begins, expected.begins_ns))
    return found


def check_sqlite(checks, what, path, expected):
    file = sqlite3.connect("file:%s?mode=ro" % path, uri=True)

    def one(sql):
        return file.execute(sql).fetchone()
    checks.equal(one("pragma integrity_check"), ("ok",), what + ": integrity")
    for category, (table, _) in GPU.items():
        wanted = expected.kernels if category == "kernel" else expected.complete[category]
        count, ns = one("select count(*), ifnull(sum(end - start), 0) from " + table)
        checks.equal(count, wanted, "%s: %s" % (what, table))
        if not expected.graphs:
            checks.equal(ns, expected.ns[category], "%s: ns of %s" % (what, table))
    for table, kind in (("CUPTI_ACTIVITY_KIND_RUNTIME", "API calls"), ("OPERATORS", "operators"),
                        ("SAMPLES", "samples"), ("STEPS", "steps"), ("ALLOCATIONS", "memory records")):
        checks.equal(one("select count(*) from " + table)[0], expected.counted[kind], "%s: %s" % (what, table))
    joined = one("select count(*) from CUPTI_ACTIVITY_KIND_KERNEL k where exists (select 1 from "
                 "CUPTI_ACTIVITY_KIND_RUNTIME r where r.correlationId = k.correlationId)")[0]
    if expected.kernels:
        checks.expect(joined > 0, what + ": kernels with their call: %d" % joined)
    messages = [row[0] for row in file.execute("select sentence from MISSING")]
    checks.equal(messages, expected.head["missing"], what + ": what is missing")
    file.close()


def check_csv(checks, what, path, expected):
    with open(path, newline="", encoding="utf-8") as file:
        kinds = collections.Counter(row["kind"] for row in csv.DictReader(file, strict=True))
    for category, (_, kind) in GPU.items():
        checks.equal(kinds[kind], expected.kernels if category == "kernel" else expected.complete[category],
                     "%s: %s" % (what, kind))
    checks.equal(kinds["runtime_call"] + kinds["driver_call"], expected.counted["API calls"], what + ": calls")
    checks.equal(kinds["sample"] + kinds["sample_blocked"], expected.counted["samples"], what + ": samples")
    checks.equal(kinds["operator"], expected.counted["operators"], what + ": operators")


def gpu_ns(expected):
    return sum(expected.ns[category] for category in GPU)


def check_stacks(checks, what, paths, expected):
    """pprof, speedscope and folded stacks hold the same times."""
    running = sum(thread["running_samples"] for thread in expected.head["threads"])
    sums = collections.Counter()
    with open(paths["folded"], encoding="utf-8") as file:
        for line in file:
            stack, _, ns = line.rpartition(" ")
            sums[stack.split(";")[0]] += int(ns)
    checks.equal(sums["GPU"], gpu_ns(expected), what + ": folded GPU time")
    profile = viewers.pprof(paths["pprof"])
    if profile is None:
        return checks.skip("the readers of the other formats are not installed")
    totals = profile["totals"]
    checks.equal(totals.get("kernels", 0), expected.kernels, what + ": kernels of the profile")
    checks.equal(totals.get("gpu", 0), gpu_ns(expected), what + ": GPU time of the profile")
    checks.equal(totals.get("samples", 0), expected.counted["samples"], what + ": samples of the profile")
    checks.equal(totals.get("cpu", 0), sums["CPU"], what + ": CPU time of profile and folded stacks")
    checks.expect(running == 0 or totals["cpu"] > 0, what + ": CPU time")
    profiles = viewers.speedscope(paths["speedscope"])["profiles"]
    for kind, total in (("CPU, ", sums["CPU"]), ("blocked, ", sums["blocked"]), ("GPU ", sums["GPU"]),
                        ("operators, ", sums["operators"])):
        weight = sum(one["weight"] for name, one in profiles.items() if name.startswith(kind))
        checks.equal(weight, total, "%s: speedscope: %s" % (what, kind))
    return profile


def check(checks, what, output):
    """All files of a folder; {format: path} and what the readers found."""
    paths = {}
    for name, suffix in SUFFIXES.items():
        found = glob.glob(os.path.join(output, "*" + suffix))
        if not checks.equal(len(found), 1, "%s: files of %s" % (what, name)):
            return None
        paths[name] = found[0]
    expected = Expected(e2e.traces(output)[0])
    found = {"told": expected, "paths": paths, "perfetto": check_perfetto(checks, what, paths["perfetto"], expected)}
    check_sqlite(checks, what, paths["sqlite"], expected)
    check_csv(checks, what, paths["csv"], expected)
    found["pprof"] = check_stacks(checks, what, paths, expected)
    return found


def record(checks, folder, name, command, options=(), env=None):
    output = os.path.join(folder, name)
    done = e2e.gpuprof(["-o", output, "--format", FORMATS, "--span-size", "100000000", *options], command,
                       env=env, timeout=600)
    checks.equal(done.returncode, 0, "%s: %s" % (name, done.stderr.decode()[-1500:]))
    return output


def python(checks, folder):
    output = record(checks, folder, "python",
                    [e2e.real_python(), os.path.join(HERE, "programs", "busy.py")])
    found = check(checks, "python", output)
    checks.expect(found["told"].counted["samples"] > 20, "python: samples %s" % found["told"].counted)
    if found["pprof"] is not None:
        leaves = found["pprof"]["leaves"]
        most = max(leaves, key=lambda name: leaves[name].get("cpu", 0))
        checks.expect(most in ("crunch", "sum"), "python: most time is in " + most)
    with open(found["paths"]["folded"], encoding="utf-8") as file:
        lines = file.read().splitlines()
    checks.expect(any(line.startswith("blocked;waiter ") and "busy.py(20): wait" in line for line in lines)
                  or any(line.startswith("blocked;") and ": wait" in line for line in lines),
                  "python: the thread that waits: %s" % lines[:20])
    checks.expect(any("busy.py(" in line and ": crunch" in line for line in lines), "python: file and line")


def trainer(checks, folder):
    sim.require_build()
    output = record(checks, folder, "trainer", sim.simulated(["--steps", "8", "--kernels", "12"]),
                    ["--step", "nvtx:step"], dict(os.environ, GPUSIM_QUIET="1"))
    found = check(checks, "trainer", output)
    checks.expect(found["told"].kernels >= 96, "trainer: kernels %d" % found["told"].kernels)
    profiles = viewers.plugin(folder)
    if profiles is not None:  # the plugin sees its own file alone
        workers = [name for run in profiles.values() for name in run]
        checks.equal(len(workers), 1, "trainer: workers the plugin lists: %s" % workers)


def scripted(checks, folder):
    writer = os.path.join(e2e.BUILD, "bin", "write_scripted")
    if not os.path.exists(writer):
        return checks.skip("write_scripted is not built")
    output = os.path.join(folder, "scripted")
    subprocess.run([writer, output, FORMATS], check=True, stdout=subprocess.DEVNULL, timeout=600)
    for path in glob.glob(os.path.join(output, "*_4100.*")):
        os.unlink(path)  # the other rank
    found = check(checks, "scripted", output)
    if found is None or found["perfetto"] is None:
        return None
    spans = {(row["slice"], row["dur"]) for row in found["perfetto"]["rows"]}
    return checks.equal(spans, {("crossing", 110_000), ("crossing", 60_000), ("request 7", 530_000)},
                        "scripted: spans that cross others, whole")


def torch(checks, folder, device="cpu"):
    interpreter = torch_runs.torch_python()
    environment = dict(os.environ, **torch_runs.environment())
    command = [interpreter, os.path.join(HERE, "programs", "views.py"), "--device", device, "--steps", "6"]
    if device == "cuda":
        torch_runs.require_torch()
        command = [sim.GPUSIM_RUN, "--quiet", "--model", "a100", "--", *command]
    else:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    found = check(checks, device, record(checks, folder, device, command, env=environment))
    expected = found["told"]
    checks.expect(expected.backward > 0 and expected.memory > 0, "%s: arrows %d, memory %d"
                  % (device, expected.backward, expected.memory))
    checks.expect(device == "cpu" or expected.kernels > 0, "%s: kernels %d" % (device, expected.kernels))


CASES = {"python": python, "trainer": trainer, "scripted": scripted, "torch": torch,
         "cuda": lambda checks, folder: torch(checks, folder, "cuda")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(CASES))
    only = parser.parse_args().only.split(",")
    checks = e2e.Checks()
    with e2e.Folder("formats") as folder:
        for name in only:
            CASES[name](checks, os.path.join(folder, "case-" + name))
        if checks.failed:
            raise SystemExit("%d failed" % checks.failed)
    checks.done()


if __name__ == "__main__":
    main()
