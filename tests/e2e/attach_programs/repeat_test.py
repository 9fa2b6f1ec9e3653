# SPDX-License-Identifier: Apache-2.0
"""gpuprof attach, record, detached, again and again in one process: afterwards it holds what it held after
the first few times: descriptors, threads, mappings, memory; the signals it handles are its own, and CUPTI
has nothing switched on.

usage: repeat_test.py [--times N] [--only threads,training,gpu]
N: 6; of `gpu`, which is PyTorch on the simulated GPU, a third."""

import argparse
import json
import os
import re
import sys

import attached
import e2e
import sim
import torch_runs

WARM = 3               # after so many times what is made once for good is there
RSS_KIB = (4096, 24)   # the allocator's own noise in a program that works, and each time
LIBC_SIGNALS = 0x180000000  # glibc's own two, handled from the first thread on
PRINTED = (1, 2, 3, 10, 50, 100)


def enabled_kinds(path):
    """CUPTI kinds that are on after the last call in the simulator's log; how often one was switched on."""
    on, times = set(), 0
    with open(path, "rb") as file:
        rows = [json.loads(line) for line in file.read().replace(b"\0", b"").splitlines() if line.strip()]
    for row in rows:
        kind = re.search(r"kind=(\d+)", row.get("args", ""))
        if row.get("result") != 0 or not kind:
            continue
        if row["f"].startswith("cuptiActivityEnable"):
            on.add(kind.group(1))
            times += 1
        elif row["f"].startswith("cuptiActivityDisable"):
            on.discard(kind.group(1))
    return on, times


def record_once(checks, what, pid, out):
    recording = attached.record_until(lambda _: True, 0.2, ["attach", str(pid)], out)
    return checks.equal((recording.status, len(recording.paths)), (0, 1), "%s: %s" % (what, recording.stderr))


def repeat(checks, what, program, folder, times):
    before = attached.footprint(program.pid)
    print("%s, before:    %s" % (what, before.row()), flush=True)
    rows = []
    for number in range(1, times + 1):
        if not record_once(checks, "%s, time %d" % (what, number), program.pid, os.path.join(folder, what)):
            break
        rows.append(attached.quiet_footprint(program.pid, before))
        if number in PRINTED or number == times:
            print("%s, time %4d: %s" % (what, number, rows[-1].row()), flush=True)
    after, warm = rows[-1], rows[min(WARM, len(rows)) - 1]
    checks.equal(len(rows), times, what + ": times")
    # The simulated CUPTI opens its log at its first call.
    descriptors = {number: to for number, to in after.descriptors.items() if not to.endswith("/calls.jsonl")}
    checks.equal(descriptors, before.descriptors, what + ": descriptors")
    checks.equal(after.threads, before.threads, what + ": threads")
    checks.equal(after.caught & ~LIBC_SIGNALS, before.caught & ~LIBC_SIGNALS, what + ": signals it handles")
    grown = after.mappings - warm.mappings
    checks.expect(grown <= max(2, times // 20), "%s: %d more mappings than after time %d" % (what, grown, WARM))
    more = after.rss_kib - warm.rss_kib
    checks.expect(more <= RSS_KIB[0] + RSS_KIB[1] * (times - WARM),
                  "%s: %d KiB more than after time %d" % (what, more, WARM))


def threads(checks, folder, times):
    command = [sys.executable, os.path.join(attached.PROGRAMS, "threads.py")]
    with attached.Program(command, folder, "threads") as program:
        repeat(checks, "threads", program, folder, times)
        checks.equal((program.end(), program.text()), (0, "ready\ncomputed\n"), "threads: its end")


def training(checks, folder, times):
    command = [torch_runs.torch_python(), os.path.join(attached.PROGRAMS, "train.py"), folder, "--pause", "0.01"]
    with attached.Program(command, folder, "training",
                          env=attached.environment(CUDA_VISIBLE_DEVICES="")) as program:
        repeat(checks, "training", program, folder, times)
        checks.equal((program.end(), program.errors()), (0, ""), "training: its end")


def gpu(checks, folder, times):
    python, log = torch_runs.require_torch(), os.path.join(folder, "calls.jsonl")
    command = attached.on_gpu([python, os.path.join(attached.PROGRAMS, "train.py"), folder, "--pause", "0.01",
                               "--device", "cuda"], "--log", log)
    with attached.Program(command, folder, "gpu") as program:
        repeat(checks, "gpu", program, folder, max(WARM, times // 3))
        on, switched = enabled_kinds(log)
        print("gpu: CUPTI kinds were switched on %d times; still on: %s" % (switched, sorted(on)), flush=True)
        checks.equal((on, switched > 0), (set(), True), "gpu: CUPTI kinds that are still on")
        checks.equal((program.end(), program.errors()), (0, ""), "gpu: its end")


CASES = {"threads": threads, "training": training, "gpu": gpu}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--only", default=",".join(CASES))
    options = parser.parse_args()
    attached.require_attach()
    sim.require_build()
    checks = e2e.Checks()
    with e2e.Folder("attach-repeat") as folder:
        for name in options.only.split(","):
            CASES[name](checks, folder, options.times)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
