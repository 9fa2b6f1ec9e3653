# SPDX-License-Identifier: Apache-2.0
"""One workload under the record layouts of several CUDA releases gives equal traces; below CUDA 13.0
Update 1 kernel records are never switched off, over windows and a hand-over to the program's own profiler."""

import collections
import concurrent.futures
import json
import os
import sys

import e2e
import sim

LAYOUTS = ["11.8", "12.4", "12.9", "13.0", "13.2", "future"]
WORK = ["--steps", "8", "--kernels", "12", "--streams", "3", "--devices", "2", "--copies", "2",
        "--memsets", "2", "--graph-nodes", "5", "--host-ms", "0"]
# Nine windows of two steps with pauses of two; the program profiles steps 12 to 19 itself.
WINDOWS = ["--step", "nvtx:step", "--wait", "2", "--active", "2", "--repeat", "9"]
HANDED_OVER = ["--steps", "40", "--host-ms", "0", "--kernels", "12",
               "--profile-from", "12",
               "--profile-until", "20"]
# Our processes may get no processor for as long as the shortest of these takes for some steps.
STEP_MS = (60, 1000)
KERNEL_KIND = "kind=10"
# What names one run or one moment of it and not the work.
OF_THE_RUN = ("correlation", "External id", "ts", "Ev Idx", "queued", "graph node id", "graph id")


def device_work(folder):
    """Everything on the device, without what differs from run to run."""
    found = collections.Counter()
    for path in e2e.traces(folder):
        for event in e2e.load(path)["traceEvents"]:
            if event.get("ph") != "X" or event["cat"] not in ("kernel", "gpu_memcpy", "gpu_memset"):
                continue
            args = {k: v for k, v in event["args"].items() if k not in OF_THE_RUN}
            found[(event["cat"], event["name"], json.dumps(args, sort_keys=True),
                   round(event["dur"], 3))] += 1
    return found


def difference(one, other):
    """Up to three examples of what only one of two traces holds."""
    return list((one - other).items())[:3] + list((other - one).items())[:3]


def check_equal_traces(checks):
    first = None
    for layout in LAYOUTS:
        with e2e.Folder("layout-" + layout) as folder:
            result = sim.run(["-o", folder, "--step", "nvtx:step", "--cuda-graph", "node"], WORK,
                             ["--layout", layout])
            checks.equal(result.returncode, 0, "status with layout " + layout)
            work = device_work(folder)
            checks.expect(sum(work.values()) > 8 * 17, "layout %s: %d records of device work: %s"
                          % (layout, sum(work.values()), result.stderr.decode()[-600:]))
            first = first or work
            checks.equal(difference(work, first), [], "layout %s differs from %s" % (layout, LAYOUTS[0]))
            stderr = result.stderr.decode()
            if layout == "future":
                checks.expect("its own iterator does not know" not in stderr,
                              "a kind only the future has is skipped: " + stderr[-600:])


def cupti_calls(path):
    with open(path, "rb") as log:
        for line in log.read().replace(b"\0", b"").splitlines():
            yield json.loads(line)


def run_handed_over(folder, layout, wanted, trainer_args=(), sim_args=()):
    """Nine windows with the program's own profiler in between: result, calls, kernels of each file; with longer steps
    where those are not as wanted."""
    for step_ms in STEP_MS:
        log, out = (os.path.join(folder, "%s%d" % (name, step_ms)) for name in ("calls", "out"))
        result = sim.run(["-o", out] + WINDOWS, HANDED_OVER + ["--step-ms", str(step_ms), *trainer_args],
                         ["--layout", layout, "--preload", "--log", log] + list(sim_args))
        calls = [c for c in cupti_calls(log) if c["t"] == "cupti" and KERNEL_KIND in c["args"].split()]
        kernels = [sum(e.get("cat") == "kernel" for e in e2e.load(path)["traceEvents"])
                   for path in e2e.traces(out)]
        if wanted(kernels):
            break
    return result, collections.Counter(c["f"] for c in calls), kernels


def before_it(kernels):
    return len(kernels) == 9 and kernels[:3] == [24, 24, 24]


def around_it(kernels):
    return before_it(kernels) and kernels[-1] == 24


def check_hand_over_and_return(checks, layout):
    with e2e.Folder("returned-" + layout) as folder:
        result, calls, kernels = run_handed_over(folder, layout, around_it)
        stderr = result.stderr.decode()
        print("  layout %s, kernels of each window: %s; %s" % (layout, kernels, dict(calls)))
        checks.equal(result.returncode, 0, "layout %s: status" % layout)
        checks.equal(calls["cuptiActivityDisable"], 1,
                     "layout %s: kernel records switched off by the program alone" % layout)
        checks.equal(len(kernels), 9, "layout %s: a file for each window: %s" % (layout, stderr))
        checks.expect("could not be switched off safely" in stderr,
                      "layout %s: the summary says so: %s" % (layout, stderr))
        checks.equal(kernels[:3], [24, 24, 24], "layout %s: windows before the hand-over" % layout)
        checks.equal(kernels[3:5], [0, 0], "layout %s: windows of the program's own profiler" % layout)
        checks.equal(kernels[-1:], [24], "layout %s: the last window, after it" % layout)


def check_never_disabled(checks, layout):
    with e2e.Folder("kept-" + layout) as folder:
        result, calls, kernels = run_handed_over(folder, layout, before_it, ["--profile-keeps-kernels"],
                                                 ["--scenario", "disable-hangs"])
        print("  layout %s, switching off hangs: %s; %s" % (layout, kernels, dict(calls)))
        checks.equal(result.returncode, 0, "layout %s: status where switching off hangs" % layout)
        checks.equal(calls["cuptiActivityDisable"], 0, "layout %s: nobody switched off" % layout)
        checks.equal(kernels[:3], [24, 24, 24], "layout %s: windows before the hand-over" % layout)
        checks.equal(len(kernels), 9, "layout %s: a file for each window" % layout)


def main():
    sim.require_build()
    checks = e2e.Checks()
    check_equal_traces(checks)
    # They sleep more than they work.
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        done = [pool.submit(check, checks, layout) for layout in ("11.8", "12.4", "12.9")
                for check in (check_hand_over_and_return, check_never_disabled)]
    for one in done:
        one.result()
    checks.done()


if __name__ == "__main__":
    sys.exit(main())
