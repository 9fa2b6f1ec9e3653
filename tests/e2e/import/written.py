# SPDX-License-Identifier: Apache-2.0
"""Traces as torch.profiler writes them, made small; and what gpuprof states about a file."""

import json
import os
import subprocess

import e2e

DEVICE = {"id": 0, "name": "Test GPU", "totalGlobalMem": 1 << 30, "computeMajor": 8, "computeMinor": 0,
          "numSms": 10, "warpSize": 32, "maxThreadsPerMultiprocessor": 2048}


def event(cat, name, ts, dur, pid=10, tid=10, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def step(number, begin, **more):
    """A step of 900 us: an operator, its launch, its kernel of 300 us."""
    ids = {"External id": 100 * number + 2}
    kernel = {"device": 0, "context": 1, "stream": 7, "correlation": number + 5, "grid": [1, 1, 1],
              "block": [32, 1, 1], "registers per thread": 32, "shared memory": 0}
    return [event("user_annotation", "ProfilerStep#%d" % number, begin, 900, **{"External id": 100 * number + 1}),
            event("cpu_op", "aten::mm", begin + 10, 100, **ids, **more),
            event("cuda_runtime", "cudaLaunchKernel", begin + 20, 10, correlation=number + 5, cbid=211, **ids),
            event("kernel", "gemm", begin + 200, 300, pid=0, tid=7, **ids, **kernel)]


def steps(count, begin=1000):
    return [e for number in range(1, count + 1) for e in step(number, begin + 1000 * (number - 1))]


def trace(events, **head):
    return {"schemaVersion": 1, "deviceProperties": [DEVICE], **head, "traceEvents": events}


def text(events, **head):
    return json.dumps(trace(events, **head), indent=1)


def save(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    return path


def run(*words):
    """Status, stdout, stderr."""
    done = subprocess.run([e2e.GPUPROF, *words], capture_output=True, timeout=600, check=False,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def report(checks, label, *paths):
    """The report as JSON; a check fails, and it is empty, where there is none."""
    status, out, stderr = run("report", "--json", *paths)
    if not checks.equal(status, 0, "%s: report: %s" % (label, stderr.strip()[:300])):
        return {"processes": [{"tables": {}, "events": {}}], "reading": {"files": [], "sentences": []}}
    return json.loads(out)


def row(result, table, name):
    for one in result["processes"][0]["tables"].get(table, []):
        if one["name"] == name:
            return one
    return {}


def repaired(result):
    """Of its first file."""
    return (result.get("reading", {}).get("files") or [{}])[0].get("mended", {})


def left_out(result):
    """By reason, all kinds together."""
    reasons = (result.get("reading", {}).get("files") or [{}])[0].get("left_out", {})
    return {reason: sum(kinds.values()) for reason, kinds in reasons.items()}


def check_sums(checks, label, result):
    for file in result.get("reading", {}).get("files", []):
        counted = sum(file["repeats"].values()) + sum(n for k in file["left_out"].values() for n in k.values())
        checks.equal(file["shown"] + counted, file["events"], label + ": shown and reported are all events")
