# SPDX-License-Identifier: Apache-2.0
"""The scripted session in the real viewers: every figure is the one worked out by hand.

tests/golden/tensorboard/scripted_session.cpp holds the times (in us), docs/trace-format.md the sums.
"""

import os
import subprocess

import e2e
import viewers

# Per step: what covers which microseconds, in the viewer's order of priority.
STEPS = {
    "1": {"Kernel": 140, "Memcpy": 20, "Memset": 0, "Runtime": 30, "DataLoader": 35,
          "CPU Exec": 55, "Other": 110},
    "2": {"Kernel": 120, "Memcpy": 0, "Memset": 5, "Runtime": 15, "DataLoader": 0,
          "CPU Exec": 15, "Other": 145},
    "3": {"Kernel": 120, "Memcpy": 10, "Memset": 0, "Runtime": 65, "DataLoader": 0,
          "CPU Exec": 15, "Other": 90},
}
# Calls, device total, host self, host total.
OPERATORS = {
    "aten::mm": (2, 240, 90, 120),
    "aten::linear": (1, 80, 100, 110),
    "copy_in": (1, 20, 10, 20),
    "side": (1, 60, 15, 25),
    "MmBackward0": (1, 0, 26, 26),
    "autograd::engine::evaluate_function: MmBackward0": (1, 0, 4, 30),
}
KERNELS = {
    "sm80_xmma_gemm_f32f32_tn_n": (3, 280),
    "triton_add(float*, float*, float*, int)": (2, 40),
    "weird \"name\" [with]\nlines \ufffd": (1, 60),
}
OWNERS = [
    ["sm80_xmma_gemm_f32f32_tn_n", "aten::linear"],
    ["sm80_xmma_gemm_f32f32_tn_n", "aten::mm"],
    ["triton_add(float*, float*, float*, int)", "aten::mm"],
    ["weird \"name\" [with]\nlines \ufffd", "side"],
]


def same(checks, what, got, wanted):
    checks.equal(got, wanted, what)


def check_plugin(checks, plugin_views):
    same(checks, "one run", len(plugin_views), 1)
    workers = list(plugin_views.values())[0]
    same(checks, "both ranks", sorted(workers), ["nodeA_4000/1", "nodeA_4100/1"])
    for name, worker in workers.items():
        same(checks, name + ": views", sorted(worker["views"]),
             ["Kernel", "Memory", "Module", "Operator", "Overview", "Trace"])
        overview = worker["overview"]
        for row in overview["steps"]:
            step = {key: round(value) for key, value in row.items() if key != "Step"}
            same(checks, "%s: step %s" % (name, row["Step"]), step, STEPS.get(row["Step"]))
        same(checks, name + ": steps", len(overview["steps"]), 3)
        same(checks, name + ": average step", overview["average_step"], 330)
        gpus = [pair[1] for pair in overview["gpus"] if pair[0] == "GPU Utilization"]
        same(checks, name + ": utilisation", gpus, ["32.32 %", "6.06 %"])
        occupancy = [pair[1] for pair in overview["gpus"] if "Occupancy" in pair[0]]
        same(checks, name + ": occupancy", occupancy, ["3.0 %", "3.0 %"])
        operators = {op: (row["calls"], row["device_total_duration"], row["host_self_duration"],
                          row["host_total_duration"]) for op, row in worker["operators"].items()}
        same(checks, name + ": operators", operators, OPERATORS)
        same(checks, name + ": call stack", worker["operators"]["aten::linear"].get("stacks"),
             ["train.py(10): forward;train.py(40): train;train.py(70): main"])
        kernels = {row["Name"]: (row["Calls"], row["Total Duration (us)"])
                   for row in worker["kernels"]}
        same(checks, name + ": kernels", kernels, KERNELS)
        same(checks, name + ": owners", sorted(worker["owners"]), OWNERS)
        blocks = {row["Mean Blocks Per SM"] for row in worker["kernels"]}
        same(checks, name + ": blocks per SM", blocks, {0.5})
        same(checks, name + ": counters the viewer added", len(worker["trace"]["counters"]), 4)


def check_hta(checks, found):
    same(checks, "HTA: ranks", found["ranks"], [0, 1])
    same(checks, "HTA: steps", [int(step) for step in found["steps"]], [1, 2])  # it leaves the last one out
    for row in found["temporal"]:
        # Busy from the first kernel kept (100) to the last end (590), what follows step 3 dropped.
        same(checks, "HTA: kernel time", row["kernel_time(us)"], 490)
        same(checks, "HTA: compute time", row["compute_time(us)"], 260)
        same(checks, "HTA: copies and sets", row["non_compute_time(us)"], 25)
        same(checks, "HTA: idle", row["idle_time(us)"], 205)
    names = {row["name"] for row in found["kernels"]}
    same(checks, "HTA: gemm is a kernel", "sm80_xmma_gemm_f32f32_tn_n" in names, True)
    copies = {row["name"]: row["mean"] for row in found["bandwidth"]}
    same(checks, "HTA: bandwidths", copies, {"Memcpy HtoD": 2.048, "Memset": 0.8192})
    same(checks, "HTA: launches of both ranks", sorted(found["launches"]), ["0", "1"])


def check_kineto(checks, found):
    """The same session spelled for HTA, whose figures must be the same and whose last analysis works."""
    check_hta(checks, found)
    same(checks, "HTA: critical path", found["critical_path"]["complete"], True)
    checks.expect(found["critical_path"]["nodes"] > 2, "HTA: nodes on the critical path: %d"
                % found["critical_path"]["nodes"])


def main():
    viewers.require_viewer("view", "hta")
    checks = e2e.Checks()
    with e2e.Folder("viewers") as folder:
        output, kineto = os.path.join(folder, "run"), os.path.join(folder, "hta")
        for arguments in ([output], [kineto, "kineto"]):
            subprocess.run([os.path.join(e2e.BUILD, "bin", "write_scripted"), *arguments], check=True,
                           stdout=subprocess.DEVNULL, timeout=600)
        plugin_views, found = viewers.plugin(output), viewers.hta(output)
        if plugin_views is not None:
            check_plugin(checks, plugin_views)
        else:
            checks.skip("the TensorBoard plugin is not installed")
        if found is not None:
            check_hta(checks, found)
            check_kineto(checks, viewers.hta(os.path.join(kineto, "kineto", "span_0001"), "critical-path"))
        else:
            checks.skip("HTA is not installed")
    checks.done()


if __name__ == "__main__":
    main()
