# SPDX-License-Identifier: Apache-2.0
"""One run, two sources: torch.profiler's key_averages() and `gpuprof report` of our own file.

usage: same_run_test.py [--device cpu|cuda] [--show]
Counts, shapes and memory are equal; times differ by no more than 5 % or a microsecond a call (of self times:
also a call made in it). Both watch at once: what torch.profiler does when a call begins, before it looks at the clock,
is in our time of that call (PyTorch asks us first). Of a list of tensors it writes down each one, which can take more
than that microsecond: the times of such rows are those of a second run, in which torch.profiler records no shapes. --device cuda: on the simulated GPU. --show prints both tables."""

import argparse
import collections
import gzip
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("lib", "pytorch", os.path.join("simgpu", "oracle")):
    sys.path.append(os.path.join(HERE, "..", folder))
import e2e  # noqa: E402
import sim  # noqa: E402
import torch_runs  # noqa: E402
from pytorch_test import python_with_torch  # noqa: E402

MEMORY = {"cpu_memory": "cpu_memory_usage_bytes", "self_cpu_memory": "self_cpu_memory_usage_bytes",
          "device_memory": "device_memory_usage_bytes",
          "self_device_memory": "self_device_memory_usage_bytes"}
TIMES = {"cpu": "cpu_time_total_ns", "self_cpu": "self_cpu_time_total_ns",
         "device": "device_time_total_ns", "self_device": "self_device_time_total_ns"}
# The wait with which torch.profiler ends lies behind the last step; queries like the other are not recorded
# (docs/cupti.md).
THEIRS_ALONE = {"cudaDeviceSynchronize", "cudaStreamIsCapturing"}
RELATIVE, A_CALL_US = 0.05, 1.0
STEPS = 400  # of programs/profiled.py
ATTEMPTS = 6  # where the machine has much else to do, what torch.profiler does takes longer
# What was given back once is memory that is there.
MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}


def record(python, device, folder, shapes):
    program = [python, os.path.join(HERE, "programs", "profiled.py"), folder, "--device", device,
               *([] if shapes else ["--no-shapes"])]
    environment = dict(os.environ, **torch_runs.environment(), **MALLOC)
    if device == "cuda":
        program = [sim.GPUSIM_RUN, "--cupti", "per-client", "--quiet", "--"] + program
    else:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    out = os.path.join(folder, "out")
    done = e2e.gpuprof(["--step", "user", "--skip-first", "5", "--warmup", "2", "--active", str(STEPS), "-r", "0",
                        "--repeat", "1", "--no-with-stack", "--no-with-modules", "-o", out], program,
                       env=environment, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode()[-2000:])
    with open(os.path.join(folder, "averages.json"), encoding="utf-8") as file:
        return json.load(file), e2e.traces(out)


def report(path, *more):
    done = subprocess.run([e2e.GPUPROF, "report", path, "--by", "operator", *more],
                          capture_output=True, text=True, check=True)
    return done.stdout


def report_rows(path, by):
    more = ["--group-by-input-shape"] if by == "shapes" else []
    return json.loads(report(path, "--json", *more))["processes"][0]["rows"]


def by_key(rows, by):
    def key(row):
        shapes = row.get("shapes", row.get("input_shapes", "")) if by == "shapes" else ""
        return row["name"], bool(row["on_device"]), "".join(str(shapes).split())
    return {key(row): row for row in rows}


def calls_within(path):
    """{name: operators that ran directly in one of it}; of steps all numbers are one name."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"]
                  if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation", "runtime")]
    within, open_ones = collections.Counter(), collections.defaultdict(list)
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        around = open_ones[event["tid"]]
        while around and around[-1]["ts"] + around[-1]["dur"] <= event["ts"]:
            around.pop()
        if around:
            name = around[-1]["name"]
            within["ProfilerStep*" if name.startswith("ProfilerStep#") else name] += 1
        around.append(event)
    return within


def times(expected, actual, within):
    """(excess, message) of every time that differs by more than is allowed; the largest excess of all."""
    wrong, largest = [], (0.0, "")
    for key in expected:
        for name, own in TIMES.items():
            a, b = expected[key][name], actual[key][own] / 1000
            calls = expected[key]["count"] + (within[key[0]] if name == "self_cpu" else 0)
            excess = abs(a - b) / max(RELATIVE * a, A_CALL_US * calls)
            difference = "%s of %s: %.1f us and %.1f us in %d calls" % (name, key[0], a, b,
                                                                   expected[key]["count"])
            largest = max(largest, (excess, difference))
            if excess > 1:
                wrong.append((key, name, difference))
    return wrong, largest


def compare(checks, averages, path, device, shapes):
    """Rows whose times differ: {(name, whether on the GPU, figure)}."""
    wrong, within = set(), calls_within(path)
    for by in ("name", "shapes") if shapes else ("name",):
        expected, actual = by_key(averages[by], by), by_key(report_rows(path, by), by)
        label = "%s by %s%s" % (device, by, "" if shapes else ", torch.profiler without shapes")
        alone = {key for key in set(expected) - set(actual) if key[0] not in THEIRS_ALONE}
        checks.equal(sorted(alone), [], label + ": rows of torch.profiler alone")
        checks.equal(sorted(set(actual) - set(expected)), [], label + ": rows of gpuprof alone")
        expected = {key: row for key, row in expected.items() if key in actual}
        for key, row in expected.items():
            checks.equal(row["count"], actual[key]["count"], "%s: calls of %s" % (label, key))
            for name, own in MEMORY.items():
                checks.equal(row[name], actual[key][own], "%s: %s of %s" % (label, name, key))
        late, largest = times(expected, actual, within)
        print("%s: %d rows equal in calls and memory; largest difference in time %.2f of what is allowed: %s"
              % (label, len(expected), *largest), flush=True)
        for _, _, difference in late:
            print("    beyond: " + difference, flush=True)
        wrong |= {(*key[:2], name) for key, name, _ in late}
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--show", action="store_true")
    wanted = parser.parse_args()
    python = torch_runs.require_torch(None) if wanted.device == "cuda" else python_with_torch()
    checks = e2e.Checks()
    e2e.raise_priority()
    wrong = None
    for attempt in range(ATTEMPTS):
        shapes = attempt % 2 == 0
        with e2e.Folder("same-run") as folder:
            averages, paths = record(python, wanted.device, folder, shapes)
            if not checks.equal(len(paths), 1, "one file"):
                break
            if wanted.show and shapes:
                print(averages["table"], report(paths[0], "--row-limit", "20"), sep="\n")
            late = compare(checks, averages, paths[0], wanted.device, shapes)
        wrong = late if wrong is None else wrong & late
        if not wrong or checks.failed:
            break
    checks.equal(sorted(wrong or ()), [], "rows whose times differ in every run")
    checks.done()


if __name__ == "__main__":
    main()
