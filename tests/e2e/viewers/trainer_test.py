# SPDX-License-Identifier: Apache-2.0
"""The simulated trainer's files in the real viewers: they load, and agree with the program."""

import json
import os

import e2e
import sim
import viewers

STEPS, KERNELS = 8, 12
ARGS = ["--steps", str(STEPS), "--kernels", str(KERNELS)]


def check_plugin(checks, plugin_views, facts):
    for run, workers in plugin_views.items():
        for name, worker in workers.items():
            checks.expect("Kernel" in worker["views"], "%s: the kernel view is there" % name)
            calls = sum(row["Calls"] for row in worker.get("kernels", []))
            checks.equal(calls, facts["kernels"], "%s: kernels" % name)
            busy = [op for op, row in worker["operators"].items()
                    if row.get("device_total_duration", 0) > 0]
            checks.expect(busy, "%s: operators have device time" % name)
            stacks = [op for op, row in worker["operators"].items() if row.get("stacks")]
            checks.expect(stacks, "%s: operators have call stacks" % name)
            overview = worker["overview"]
            checks.expect(overview["steps"], "%s: there are steps" % name)
            for row in overview["steps"]:
                checks.expect(row["Runtime"] > 0, "%s: step %s has runtime calls"
                              % (name, row["Step"]))
    checks.equal(len(plugin_views), 1, "one run")


def count(traces):
    events = [e for trace in traces for e in trace["traceEvents"]]
    return {"kernels": sum(e.get("cat") == "kernel" for e in events)}


def main():
    viewers.require_viewer("view", "hta")
    sim.require_build()
    checks = e2e.Checks()
    with e2e.Folder("viewers-trainer") as folder:
        output = os.path.join(folder, "run")
        done = sim.run(["-o", output, "--step", "nvtx:step"], ARGS)
        checks.equal(done.returncode, 0, "exit status: %s" % done.stderr[-500:])
        files = e2e.traces(output)
        checks.equal(len(files), 1, "files: %s" % json.dumps(files))
        facts = count([e2e.load(path) for path in files])
        plugin_views, found = viewers.plugin(output), viewers.hta(output)
        if plugin_views is None:
            checks.skip("the TensorBoard plugin is not installed")
        else:
            check_plugin(checks, plugin_views, facts)
        if found is None:
            checks.skip("HTA is not installed")
        else:
            checks.equal(found["ranks"], [0], "HTA: ranks")
            checks.expect(all(row["compute_time(us)"] > 0 for row in found["temporal"]),
                          "HTA: compute time")
    checks.done()


if __name__ == "__main__":
    main()
