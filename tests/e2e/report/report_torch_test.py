# SPDX-License-Identifier: Apache-2.0
"""`gpuprof report` prints what torch's key_averages().table() prints, for the same trace.

Every row of every table is compared to its last digit. PyTorch adds up microseconds in floating
point: where a figure lies exactly between two that can be printed, either is right."""

import csv
import fractions
import io
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "pytorch"))
import e2e  # noqa: E402
from pytorch_test import python_with_torch  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SCALES = [("ms", 10**6), ("us", 10**3), ("s", 10**9)]
FIELDS = {"Self CPU": "self_cpu_time_total_ns", "CPU total": "cpu_time_total_ns",
          "Self CUDA": "self_device_time_total_ns", "CUDA total": "device_time_total_ns"}


def report(*arguments):
    done = subprocess.run([e2e.GPUPROF, "report", *arguments],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def rows_of(table):
    """Cells of each row and the lines below, by the widths of the rules."""
    lines = table.splitlines()
    widths = [len(word) for word in lines[0].split()]
    rows = [re.split(r"\s{2,}", lines[1].strip())]  # a title may be wider than its column
    for line in lines[2:]:
        if line.startswith("---"):
            continue
        at, cells = 0, []
        if not line.startswith("Self C"):
            for width in widths:
                cells.append(line[at:at + width].strip())
                at += width + 2
        rows.append(cells or [line])
    return rows


def lies_between(cell, other, exact):
    """Whether `exact` (ns, or a share) is as far from one as from the other."""
    for suffix, scale in [("%", fractions.Fraction(1, 100)), *SCALES]:
        if cell.endswith(suffix) and other.endswith(suffix):
            a, b = (fractions.Fraction(text[:-len(suffix)]) * scale for text in (cell, other))
            return abs(a - exact) == abs(b - exact)
    return False


def exact_value(title, row, totals):
    name = title.replace(" %", "").replace(" time avg", " total")
    value = fractions.Fraction(int(row[FIELDS[name]]))
    if title.endswith("%"):
        return value / totals["CUDA" in title]
    return value / int(row["count"]) if title.endswith("avg") else value


def differences(expected, actual, exact_rows):
    """Cells that differ otherwise than by the rounding of a figure in the middle."""
    expected, actual = rows_of(expected), rows_of(actual)
    titles = expected[0]
    sums = [row for row in expected if len(row) == 1]

    def sort_key(pair):
        row = dict(zip(titles, pair[0]))
        return (row["Name"], row.get("Input Shapes", ""), row["# of Calls"],
                row["CPU total"] == "0.000us")

    def aligned(table, exact):
        # Sums that are equal come in any order: PyTorch's differ in their last bits.
        rows = [row for row in table[1:] if len(row) > 1]
        pairs = sorted(zip(rows, exact or rows), key=sort_key)
        return [row for row, _ in pairs], [one for _, one in pairs]

    last_rows = [row for row in actual if len(row) == 1]
    if actual[0] != titles or len(actual) != len(expected) or len(sums) != len(last_rows):
        return [("layout", titles, actual[0], len(expected), len(actual))]
    expected, _ = aligned(expected, None)
    actual, exact_rows = aligned(actual, exact_rows)
    expected, actual = expected + sums, actual + last_rows
    if [row[0] for row in expected[:-len(sums)]] != [row[0] for row in actual[:-len(sums)]]:
        return [("names", [r[0] for r in expected], [r[0] for r in actual])]
    totals = [sum(int(r["self_cpu_time_total_ns"]) for r in exact_rows),
              sum(int(r["self_device_time_total_ns"]) for r in exact_rows if r["on_device"])]
    found = []
    for number, (one, other) in enumerate(zip(expected, actual)):
        for title, a, b in zip(titles, one, other):
            if a == b:
                continue
            timed = "Mem" not in title and ("CPU" in title or "CUDA" in title)
            if len(one) == 1:  # the sum below
                exact, a, b = totals["CUDA" in a], a.split()[-1], b.split()[-1]
            elif timed:
                exact = exact_value(title, exact_rows[number], totals)
            if not (timed or len(one) == 1) or not lies_between(a, b, exact):
                found.append((one[0], title, a, b))
    return found


def compare(checks, what, trace, table, options):
    actual = report(*options, trace)
    exact = list(csv.DictReader(io.StringIO(report(*options, "--csv", trace))))
    wrong = differences(table, actual, exact)
    checks.expect(not wrong, f"{what}: {len(rows_of(table)) - 1} rows as PyTorch prints them {wrong[:3]}")


def cpu(checks, python, folder, stacks):
    os.makedirs(folder)
    subprocess.run([python, os.path.join(HERE, "programs", "profiled_net.py"), folder,
                    *(["stacks"] if stacks else [])], check=True, capture_output=True)
    trace = os.path.join(folder, "net.pt.trace.json")
    with open(os.path.join(folder, "tables.json"), encoding="utf-8") as file:
        tables = json.load(file)
    for name, table in tables.items():
        key = name.split()[-1]
        options = ["--sort-by", key, "--row-limit", "1000"]
        if name == "limited":
            options = ["--sort-by", "cpu_time_total", "--row-limit", "7"]
        if name.startswith("shapes"):
            options.append("--group-by-input-shape")
        if name == "limited":
            checks.expect(len(rows_of(report(*options, trace))) == len(rows_of(table)),
                        "--row-limit 7 prints seven rows")
        else:
            compare(checks, f"{'with' if stacks else 'without'} stacks, {name}", trace, table,
                    options)


def event(category, name, ts, dur, tid, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 0 if tid < 100 else 4000, "tid": tid,
            "ts": ts, "dur": dur, "args": args}


def cuda_trace():
    """Operators in operators, a copy, kernels that outlive their launch, device memory."""
    events = []
    for step in range(3):
        at, ids = 1000.0 + step * 1000, 10 * step
        correlation = 100 + step * 10
        linked = {"External id": ids + 3}
        events += [
            event("user_annotation", f"ProfilerStep#{step + 4}", at, 900.5, 500,
                  **{"External id": ids + 1}),
            event("cpu_op", "aten::linear", at + 10, 300.125, 500, **{
                "External id": ids + 2, "Input Dims": [[64, 32], [16, 32], [16]],
                "Input type": ["float", "float", "float"]}),
            event("cpu_op", "aten::addmm", at + 20, 200.25 + step, 500, **{
                "External id": ids + 3, "Input Dims": [[16], [64, 32], [32, 16]],
                "Input type": ["float", "float", "float"]}),
            event("cuda_runtime", "cudaLaunchKernel", at + 40, 12.5, 500,
                  correlation=correlation, cbid=211, **linked),
            event("kernel", "void gemm<float, 128>(float*, float const*)", at + 60, 150.75, 7,
                  device=0, context=1, stream=7, correlation=correlation, grid=[4, 1, 1],
                  block=[128, 1, 1], **linked),
            event("cuda_runtime", "cudaLaunchKernel", at + 60, 9.25, 500,
                  correlation=correlation + 1, cbid=211, **linked),
            event("kernel", "splitk_reduce", at + 215, 20.5, 7, device=0, context=1, stream=7,
                  correlation=correlation + 1, grid=[1, 1, 1], block=[64, 1, 1], **linked),
            # As PyTorch's profiler draws its own ranges: around what was launched in them.
            event("gpu_user_annotation", f"ProfilerStep#{step + 4}", at + 60 - 0.001, 540.002, 7,
                  **{"External id": ids + 1}),
            event("cpu_op", "aten::to", at + 400, 350.0, 500, **{"External id": ids + 4}),
            event("cpu_op", "aten::copy_", at + 410, 330.0, 500, **{"External id": ids + 5}),
            event("cuda_runtime", "cudaMemcpyAsync", at + 420, 300.0, 500,
                  correlation=correlation + 2, cbid=41, **{"External id": ids + 5}),
            event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at + 500, 100.0, 7, device=0,
                  context=1, stream=7, correlation=correlation + 2, bytes=4096,
                  **{"External id": ids + 5, "memory bandwidth (GB/s)": 0.04096}),
        ]
        for offset, size in ((30, 65536), (405, 4096), (600, -65536)):
            events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]",
                           "pid": 4000, "tid": 500, "ts": at + offset, "args": {
                               "Device Type": 0 if size == 4096 else 1,
                               "Device Id": -1 if size == 4096 else 0, "Addr": 7 + step,
                               "Bytes": size, "Total Allocated": 70000, "Total Reserved": 80000}})
    return {"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}


def cuda(checks, python, folder):
    os.makedirs(folder)
    path = os.path.join(folder, "cuda.pt.trace.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(cuda_trace(), out)
    for key in ("self_cuda_time_total", "cuda_time_total", "cuda_memory_usage", "count"):
        table = subprocess.run([python, os.path.join(HERE, "programs", "cuda_table.py"), path, key],
                               check=True, capture_output=True, text=True).stdout
        compare(checks, f"CUDA columns, {key}", path, table,
                ["--sort-by", key, "--row-limit", "1000"])


def main():
    python = python_with_torch()
    checks = e2e.Checks()
    with e2e.Folder("report") as folder:
        cpu(checks, python, os.path.join(folder, "plain"), False)
        cpu(checks, python, os.path.join(folder, "stacks"), True)
        cuda(checks, python, os.path.join(folder, "cuda"))
    checks.done()


if __name__ == "__main__":
    main()
