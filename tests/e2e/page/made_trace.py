# SPDX-License-Identifier: Apache-2.0
"""Traces made up for the page: steps with operators, launches, kernels and memory, as many as requested."""

import json

MARKUP = "</script><img src=x onerror=\"window.broken='yes'\"><script>window.broken='yes'</script><!--"
HOSTILE = {"aten::mm": MARKUP, "aten::relu": "\u202eelif\u202c 'single' \"double\" \\back\n\ttab \u05d0\u05d1 \U0001f600 & &lt;",
           "aten::add": "k" * 65536, "gemm": "void <b>gemm</b>" + MARKUP, "python3": "py<i>thon</i>"}


def write(path, rank=None, world=2, steps=8, operators=6, slow=1.0, hostile=False, memory=True, factor=None, names=("aten::mm", "aten::relu", "aten::add"),
          kept=0):
    """Writes a trace: `operators` a step, each with one launch and one kernel. Returns the events written.

    factor: (step, operator) → how many times as long as usual; kept: bytes that each step keeps."""
    name = (lambda text: HOSTILE.get(text, text)) if hostile else (lambda text: text)
    pid, count, correlation, allocated = 4000 + (rank or 0), 0, 0, 0
    head = {"schemaVersion": 1, "traceName": name("trace"), "displayTimeUnit": "ms", "baseTimeNanoseconds": 0,
            "deviceProperties": [{"id": 0, "name": name("Made GPU"), "totalGlobalMem": 34079637504, "computeMajor": 7,
                                  "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
                                  "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "warpSize": 32,
                                  "sharedMemPerBlock": 49152, "sharedMemPerMultiprocessor": 98304, "numSms": 80,
                                  "sharedMemPerBlockOptin": 98304}]}
    if rank is not None:
        head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world}
    with open(path, "w", encoding="utf-8") as out:
        out.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')

        def put(**event):
            nonlocal count
            out.write((",\n" if count else "") + json.dumps(event))
            count += 1

        put(ph="M", name="process_name", pid=pid, tid=0, ts=0, args={"name": name("python3")})
        at = 1_000_000.0
        for step in range(steps):
            begin = at
            for index in range(operators):
                correlation += 1
                op = names[index % len(names)]
                more = slow * (factor(step, op) if factor else 1)
                length = round((20 + 5 * (index % 3)) * more, 3)
                put(ph="X", cat="cpu_op", name=name(op), pid=pid, tid=pid, ts=at, dur=length,
                    args={"External id": correlation, "Input Dims": [[64, 32 + index % 3]], "Input type": ["float"]})
                put(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=pid, tid=pid, ts=at + 2, dur=5,
                    args={"External id": correlation, "cbid": 211, "correlation": correlation})
                put(ph="X", cat="kernel", name=name("gemm" if op == "aten::mm" else "elementwise"), pid=0, tid=7, ts=at + 9,
                    dur=round(8 * more, 3), args={"External id": correlation, "device": 0, "context": 1, "stream": 7,
                                                  "correlation": correlation, "registers per thread": 32, "shared memory": 0,
                                                  "blocks per SM": 1.6, "warps per SM": 12.8, "grid": [128, 1, 1],
                                                  "block": [256, 1, 1], "est. achieved occupancy %": 20})
                put(ph="s", id=correlation, pid=pid, tid=pid, ts=at + 2, cat="ac2g", name="ac2g")
                put(ph="f", id=correlation, pid=0, tid=7, ts=at + 9, cat="ac2g", name="ac2g", bp="e")
                if memory and index < 2:
                    allocated += 4096 + kept if index == 0 else -2048
                    put(ph="i", s="t", cat="cpu_instant_event", name="[memory]", pid=pid, tid=pid, ts=at + 1,
                        args={"Total Reserved": 1 << 21, "Total Allocated": allocated, "Bytes": 4096 if index == 0 else -2048,
                              "Addr": 4096 * (step + 1), "Device Id": 0, "Device Type": 1})
                at = round(at + length + 10, 3)
            if rank is not None:
                correlation += 1
                put(ph="X", cat="user_annotation", name="nccl:all_reduce", pid=pid, tid=pid, ts=at, dur=17, args={})
                put(ph="X", cat="cpu_op", name="record_param_comms", pid=pid, tid=pid, ts=at + 1, dur=15,
                    args={"External id": correlation, "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024,
                          "Group size": world, "dtype": "Float", "Process Group Name": "default_pg"})
                put(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=pid, tid=pid, ts=at + 2, dur=5,
                    args={"External id": correlation, "cbid": 211, "correlation": correlation})
                put(ph="X", cat="kernel", name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", pid=0,
                    tid=7, ts=at + 12, dur=10, args={"External id": correlation, "device": 0, "context": 1, "stream": 7,
                                                     "correlation": correlation, "grid": [2, 1, 1], "block": [512, 1, 1]})
                at = round(at + 20, 3)
            at = round(at + 40 * (1 + step % 3), 3)
            put(ph="X", cat="user_annotation", name=f"ProfilerStep#{step}", pid=pid, tid=pid, ts=begin, dur=round(at - begin - 1, 3),
                args={})
        out.write("\n]}\n")
    return count
