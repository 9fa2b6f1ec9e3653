# SPDX-License-Identifier: Apache-2.0
"""Every activity type of Kineto, and the rows of torch_npu and ROCm: what the report makes of it, as
docs/reading-traces.md says. A kind that is new tomorrow is reported, and taken by its shape."""

import json
import sys

import e2e
from made_traces import PID, Report, arrow, host, named, run, save, x

DEVICE = {"device": 0, "stream": 7}


def work(category, name="work", **more):
    return x(category, name, 1400, 200, 0, 7, **{**DEVICE, "correlation": 9, **more})


def launch(category="cuda_runtime", name="cudaLaunchKernel", at=1020):
    return x(category, name, at, 50, correlation=9, External__id=2)


def kernel_time(report, name="work"):
    return report.row("kernel-name", name).get("total_ns")


def in_kernels(report):
    return (kernel_time(report), report.row("operator", "aten::mm").get("self_device_time_total_ns"))


def in_copies(report):
    rows = report.rows("memcpy") + report.rows("memset")
    return sum(row["total_ns"] for row in rows), rows[0]["bytes"] if rows else None


def in_calls(report):
    return (report.row("api", "call").get("count"), report.step().get("runtime_ns"))


def in_waits(report):
    return (sum(row["total_ns"] for row in report.rows("sync")), report.step().get("wait_ns",
                                                                                   report.step().get("gpu_wait_ns")))


def in_collectives(report):
    return (bool(report.rows("nccl")) or kernel_time(report, "allreduce") is not None,
            report.step().get("communication_ns"))


def in_operators(report):
    return report.row("operator", "call").get("count")


def reported_as(reason):
    return lambda report: any(reason in part for part in report.file().get("left_out", {}))


CALL = ("call", 1400, 50)
WORK = (200_000, 200_000)
# Kineto's activity types in the order of its list: events besides the host's and the launch, what to look
# at, what has to be there.
KINETO = {
    "cpu_op": ([x("cpu_op", *CALL)], in_operators, 1),
    "user_annotation": ([x("user_annotation", *CALL)], in_operators, 1),
    "gpu_user_annotation": ([work("gpu_user_annotation")], kernel_time, None),
    "gpu_memcpy": ([work("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", bytes=64)], in_copies,
                   (200_000, 64)),
    "gpu_memset": ([work("gpu_memset", "Memset (Device)", bytes=64)], in_copies, (200_000, 64)),
    "kernel": ([work("kernel")], in_kernels, WORK),
    "external_correlation": ([x("external_correlation", *CALL)], in_operators, None),
    "cuda_runtime": ([x("cuda_runtime", *CALL)], in_calls, (1, 100_000)),
    "cuda_driver": ([x("cuda_driver", *CALL)], in_calls, (1, 100_000)),
    "cpu_instant_event": ([{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": PID, "tid": PID,
                            "ts": 1100, "args": {"Bytes": 512, "Device Type": 12, "Device Id": 0, "Addr": 1,
                                                 "Total Allocated": 512, "Total Reserved": 1024}}],
                          lambda r: [(d["device"], d["peak_allocated_bytes"])
                                     for d in r.processes[0]["memory_devices"]], [(0, 512)]),
    "python_function": ([x("python_function", "/w/a.py(3): f", 1000, 900, Python__id=1)],
                        lambda r: [row["line"] for row in r.rows("site")], ["/w/a.py:3"]),
    "overhead": ([x("overhead", "Buffer Flush", 1400, 50, -1, PID)],
                 lambda r: r.row("operator", "Buffer Flush").get("count"), 1),
    "mtia_runtime": ([x("mtia_runtime", *CALL)], in_calls, (1, 100_000)),
    "mtia_ccp_events": ([work("mtia_ccp_events")], in_kernels, WORK),
    "mtia_insight": ([work("mtia_insight")], in_kernels, WORK),
    "cuda_sync": ([x("cuda_sync", "Stream Sync", 1400, 50, 0, 7, stream=7, correlation=3)],
                  lambda r: r.file().get("left_out"), {}),
    "cuda_event": ([x("cuda_event", "cudaEventRecord", 1400, 0, 0, 7, **DEVICE)], reported_as("no-work"), True),
    "mtia_counters": ([{"ph": "C", "cat": "mtia_counters", "name": "HBM", "pid": 0, "tid": 1, "ts": 1400,
                        "args": {"used": 3}}], reported_as("no-work"), True),
    "glow_runtime": ([x("glow_runtime", *CALL)], in_calls, (1, 100_000)),
    "cuda_profiler_range": ([work("cuda_profiler_range")], reported_as("no-work"), True),
    "hpu_op": ([work("hpu_op")], in_kernels, WORK),
    "xpu_runtime": ([x("xpu_runtime", *CALL)], in_calls, (1, 100_000)),
    "xpu_driver": ([x("xpu_driver", *CALL)], in_calls, (1, 100_000)),
    "collective_comm": ([x("collective_comm", "xccl::allreduce", 1400, 50, communicator=1)], in_collectives,
                        (True, 50_000)),
    "privateuse1_runtime": ([x("privateuse1_runtime", *CALL)], in_calls, (1, 100_000)),
    "privateuse1_driver": ([x("privateuse1_driver", *CALL)], in_calls, (1, 100_000)),
    "xpu_scope_profiler": ([{"ph": "C", "cat": "xpu_scope_profiler", "name": "GpuTime", "pid": 0, "tid": 1,
                             "ts": 1400, "args": {"ns": 3}}], reported_as("no-work"), True),
    "xpu_sync": ([x("xpu_sync", "zeEventHostSynchronize", 1400, 60, -1, PID, correlation=3)], in_waits,
                 (60_000, 60_000)),
    "hardware_counters": ([{"ph": "C", "cat": "hardware_counters", "name": "sm", "pid": "GPU 0 Counters",
                            "tid": 1, "ts": 1400, "args": {"": 3}}], reported_as("no-work"), True),
}
# The same types in other shapes, and what nobody has written yet.
SHAPES = {
    "hpu_op of the host": ([x("hpu_op", *CALL)], in_calls, (1, 100_000)),
    "mtia_insight of the host": ([x("mtia_insight", *CALL)], in_calls, (1, 100_000)),
    "collective_comm of a device": ([work("collective_comm", "allreduce")], in_collectives, (True, 200_000)),
    "collective_comm of a device without arguments": (
        [x("collective_comm", "allreduce", 1400, 200, 0, 7, streamId=7)], in_collectives, (True, 200_000)),
    "mtia_ccp_events of HCCL": ([work("mtia_ccp_events", "hccl::allreduce")],
                                lambda r: r.step().get("communication_ns"), 200_000),
    "a wait of a kind of its own": ([x("musa_sync", "musaWait", 1400, 60)], in_waits, (60_000, 60_000)),
    "an unknown kind with device and stream": ([work("quantum_op")], in_kernels, WORK),
    "an unknown kind of a thread": ([x("mystery", *CALL)], in_operators, 1),
    "an unknown runtime": ([x("quantum_runtime", *CALL)], in_calls, (1, 100_000)),
    "a queue of SYCL as stream": (
        [x("kernel", "work", 1400, 200, 0, 7, device=0, correlation=9, sycl__queue=7, l0__queue="0x55d0",
           context="0x0055")], in_kernels, WORK),
    "a copy of Level Zero": ([work("gpu_memcpy", "Memcpy M2D (Memory -> Device)", bytes=8)],
                             lambda r: [row["name"] for row in r.rows("memcpy")],
                             ["Memcpy HtoD (Pageable -> Device)"]),
    "a copy of ROCm": ([work("gpu_memcpy", "CopyHostToDevice", bytes=8)],
                       lambda r: [row["name"] for row in r.rows("memcpy")],
                       ["Memcpy HtoD (Unknown -> Unknown)"]),
    "hip calls": ([x("cuda_runtime", "hipStreamSynchronize", 1400, 60)], in_waits, (60_000, 60_000)),
    "a blocking copy of hip": ([x("cuda_runtime", "hipMemcpyWithStream", 1400, 60)], in_waits,
                               (60_000, 60_000)),
    "kernels of RCCL": ([work("kernel", "ncclDevKernel_Generic_1")],
                        lambda r: r.step().get("communication_ns"), 200_000),
}
UNKNOWN = {"a wait of a kind of its own": "musa_sync", "an unknown kind of a thread": "mystery",
           "an unknown kind with device and stream": "quantum_op", "an unknown runtime": "quantum_runtime"}


def each(checks, folder, rows):
    for name, (events, describe, wanted) in rows.items():
        path = save(folder, "one.json", host() + [launch()] + events)
        report = Report(checks, path)
        checks.equal(describe(report), wanted, name)
        file = report.file()
        left = sum(n for kinds in file.get("left_out", {}).values() for n in kinds.values())
        checks.equal(file.get("shown", 0) + sum(file.get("repeats", {}).values()) + left, len(events) + 3,
                     name + ": every event is counted once")
        if describe is reported_as or not left:
            continue
        checks.expect(report.has_message("skipped"), name + ": what is left out is reported: %s" % report.messages())
        export = run("export", path, "-f", "-o", folder + "/out", "--format", "csv")
        checks.expect("skipped" in export.stderr, name + ": also by export: " + export.stderr)


def unknown_kinds(checks, folder):
    for name, category in UNKNOWN.items():
        report = Report(checks, save(folder, "new.json", host() + [launch()] + SHAPES[name][0]))
        checks.expect(report.has_message("1 event", "'%s'" % category, "unknown category"),
                      "%s is reported: %s" % (category, report.messages()))


def two_queues(checks, folder):
    """Two queues are two streams, also where only their addresses tell them apart."""
    for key, values in (("sycl queue", (64, 65)), ("l0 queue", ("0x10", "0x20")), ("streamId", (3, 4))):
        events = host() + [launch()]
        for value in values:
            event = x("kernel", "work", 1400, 200, 0, 9, device=0, correlation=9)
            event["args"][key] = value
            events.append(event)
        out = run("export", save(folder, "queues.json", events), "-f", "-o", folder + "/queues", "--format",
                  "csv")
        checks.equal(out.returncode, 0, "export: " + out.stderr)
        rows = [line.split(",") for line in open(out.stdout.strip().splitlines()[0], encoding="utf-8")]
        checks.equal(len({row[7] for row in rows if row[0] == "kernel"}), 2, "streams by " + key)


def xpu(checks, folder):
    """As Kineto's plugin for XPUs writes: waits on row -1, one number for call and driver call."""
    events = host(3)
    for n in range(3):
        at, ident = 1000 + 1000 * n, 100 * n + 2
        events += [x("xpu_runtime", "urEnqueueKernelLaunchWithArgsExp", at + 20, 80, External__id=ident,
                     correlation=n + 5),
                   x("xpu_driver", "zeCommandListAppendLaunchKernel", at + 40, 20, External__id=ident,
                     correlation=n + 5),
                   x("kernel", "gemm_kernel", at + 250, 400, 0, 64, External__id=ident, device=0,
                     correlation=n + 5, context="0x0000000055d0", sycl__queue=64, l0__queue="0x55d0"),
                   x("gpu_memset", "Memset (0 -> Device)", at + 660, 10, 0, 64, device=0, correlation=n + 50,
                     sycl__queue=64, bytes=16),
                   x("xpu_sync", "zeCommandListHostSynchronize", at + 700, 200, -1, PID, correlation=n + 90,
                     Type="HOST_COMMAND_LIST", External__id=ident),
                   x("xpu_sync", "zeCommandListAppendBarrier", at + 900, 50, -1, PID, correlation=n + 95,
                     Type="GPU_BARRIER_EXECUTION")]
    report = Report(checks, save(folder, "xpu.json", events,
                                 deviceProperties=[{"id": 0, "name": "Data Center GPU Max"}]))
    checks.equal(report.row("operator", "aten::mm").get("self_device_time_total_ns"), 1_200_000, "GPU time")
    checks.equal([row["runtime_ns"] for row in report.rows("step")], [80_000] * 3, "runtime of steps")
    checks.equal(sum(row["total_ns"] for row in report.rows("sync")), 600_000, "waits")
    checks.equal(report.rows("gpu")[0]["name"], "Data Center GPU Max", "the device's name")
    checks.equal(len(report.processes), 1, "row -1 is no process")
    checks.equal(report.messages(), [], "nothing is left out")


def npu_by_kineto(checks, folder):
    """torch_npu as Kineto's plugin: no correlation; arrows and ids of record functions link."""
    events = [x("cpu_op", "aten::mm", 1010, 300, Record__function__id=77, External__id=2),
              x("cpu_op", "aten::add", 1400, 50, Record__function__id=78, External__id=3),
              x("privateuse1_runtime", "MatMulV2", 1500, 0), arrow("s", "ac2g", 77, PID, PID, 1500),
              x("kernel", "MatMulV2", 1500, 200, 0, 5, type="AI_CORE", streamId=5),
              arrow("f", "ac2g", 77, 0, 5, 1500),
              x("collective_comm", "HcclAllReduce", 1800, 100, 0, 6, streamId=6, External__id=1 << 30),
              named("process_name", 0, "NPU"), named("process_labels", 0, "Ascend NPU")]
    report = Report(checks, save(folder, "npu.json", events))
    checks.equal(report.row("operator", "aten::mm").get("self_device_time_total_ns"), 200_000, "of mm")
    checks.equal(report.row("operator", "aten::add").get("self_device_time_total_ns"), 0, "of add")
    checks.equal(report.step().get("communication_ns"), 100_000, "communication")


def ascend(checks, folder):
    """trace_view.json of torch_npu's own profiler: rows without categories, known by their names."""
    pid, cann, npu, hccl, sums = 4000, (4000 << 10) | 32, (4000 << 10) | 64 | 3, (4000 << 10) | 96 | 3, 99
    events = [x("cpu_op", "ProfilerStep#6", "1000.000", 1000, pid, 11), x("cpu_op", "aten::mm", "1010.000", 100,
                                                                         pid, 11),
              x("enqueue", "Enqueue@aclnnMatmul", "1020.000", 20, pid, 11, correlation_id=1),
              x("dequeue", "Dequeue@aclnnMatmul", "1050.000", 100, pid, 12, correlation_id=1),
              arrow("s", "async_task_queue", 1, pid, 11, "1020.000"),
              x(None, "Node@launch", "1060.000", 30, cann, 12, connection_id=31, level="node"),
              x(None, "AscendCL@aclrtSynchronizeStream", "1700.000", 200, cann, 11, connection_id=32),
              x(None, "aclnnMatmul_MatMulV2", "1300.000", 300, npu, 2, Task__Type="AI_CORE",
                Physic__Stream__Id=2, connection_id=31),
              x(None, "MEMCPY_ASYNC", "1610.000", 20, npu, 2, Task__Type="MEMCPY_ASYNC", Physic__Stream__Id=2),
              x(None, "EVENT_WAIT", "1640.000", 40, npu, 2, Task__Type="EVENT_WAIT", Physic__Stream__Id=2),
              x(None, "hcom_allReduce__303_0_1", "1700.000", 100, hccl, 0, connection_id=33),
              x(None, "Notify_Wait", "1700.000", 50, hccl, 1), x(None, "Reduce_Inline", "1750.000", 50, hccl, 1),
              x(None, "Computing", "1300.000", 300, sums, 0), x(None, "Free", "1000.000", 300, sums, 3),
              x("GC", "GC", "1990.000", 5, (pid << 10) | 32, 11),
              arrow("s", "async_npu", 1300000, pid, 11, "1010.000"),
              arrow("f", "async_npu", 1300000, npu, 2, "1300.000"),
              {"ph": "C", "name": "AI Core Freq", "pid": 98, "tid": 0, "ts": "1000.000", "args": {"MHz": 1800}},
              named("process_name", pid, "Python"), named("process_labels", pid, "CPU"),
              named("process_name", cann, "CANN"), named("process_name", npu, "Ascend Hardware"),
              named("process_labels", npu, "NPU"), named("process_name", hccl, "Communication"),
              named("process_name", sums, "Overlap Analysis")]
    for order, what in ((events, "names last"), (events[::-1], "names first")):
        report = Report(checks, save_list(folder, order))
        checks.equal(len(report.processes), 1, what + ": one process")
        checks.equal(report.row("operator", "aten::mm").get("self_device_time_total_ns"), 300_000,
                     what + ": NPU time of aten::mm")
        checks.equal([(row["name"], row["total_ns"]) for row in report.rows("kernel-name")],
                     [("aclnnMatmul_MatMulV2", 300_000), ("hcom_allReduce__303_0_1", 100_000)],
                     what + ": kernels")
        checks.equal(report.step().get("communication_ns"), 100_000, what + ": communication")
        checks.equal(sum(row["total_ns"] for row in report.rows("sync")), 200_000, what + ": waits")
        checks.equal(report.step().get("memcpy_ns"), 20_000, what + ": copies")
        checks.equal([row["gpu"] if "gpu" in row else row["device"] for row in report.rows("gpu")], [3],
                     what + ": the device")
        checks.expect(report.has_message("1 of 'AI Core Freq'"), what + ": reported: %s" % report.messages())


def save_list(folder, events):
    path = folder + "/trace_view.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(events, file)
    return path


def rocm(checks, folder):
    """Kineto with rocprofiler: hip calls, grids in calls; and a tool's rows without categories."""
    events = host() + [
        x("cuda_runtime", "hipLaunchKernel", 1020, 30, cid=186, correlation=9, External__id=2, kernel="gemm",
          grid=[4, 1, 1], block=[256, 1, 1], shared__memory=0),
        x("kernel", "gemm", 1400, 200, 0, 0, device=0, stream=0, hsa_queue=1, correlation=9, kind="Dispatch Kernel",
          grid=[4, 1, 1], block=[256, 1, 1], External__id=2),
        x("gpu_memcpy", "Memcpy DtoH (Device -> Host)", 1610, 20, 0, 0, device=0, stream=0, correlation=10,
          kind="DtoH", bytes=64),
        x("cuda_runtime", "hipMemcpyWithStream", 1605, 40, cid=90, correlation=10, bytes=64, kind="2"),
        x("cuda_runtime", "hipDeviceSynchronize", 1700, 60, cid=20, correlation=11)]
    report = Report(checks, save(folder, "rocm.json", events))
    checks.equal(report.row("operator", "aten::mm").get("self_device_time_total_ns"), 200_000, "of mm")
    checks.equal(report.step().get("runtime_ns"), 110_000, "runtime (what no copy covers)")
    checks.equal(sum(row["total_ns"] for row in report.rows("sync")), 100_000, "waits")
    checks.equal(report.messages(), [], "nothing is left out")
    tool = [named("process_name", 2, "CPU HIP API"), named("process_name", 6, "GPU0"),
            x(None, "hipLaunchKernel", 1000, 20, 2, 31), x(None, "gemm", 1100, 200, 6, 0),
            x(None, "CopyHostToDevice", 1310, 20, 6, 0)]
    report = Report(checks, save(folder, "rocprof.json", tool))
    checks.equal((kernel_time(report, "gemm"), report.row("api", "hipLaunchKernel").get("count"),
                  sum(row["total_ns"] for row in report.rows("memcpy"))), (200_000, 1, 20_000), "rocprof's rows")


def main():
    checks = e2e.Checks()
    with e2e.Folder("import-kinds") as folder:
        each(checks, folder, KINETO)
        each(checks, folder, SHAPES)
        for test in (unknown_kinds, two_queues, xpu, npu_by_kineto, ascend, rocm):
            test(checks, folder)
        return checks.done()


if __name__ == "__main__":
    sys.exit(main())
