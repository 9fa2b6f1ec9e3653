# SPDX-License-Identifier: Apache-2.0
"""What the machine is. The other parts' results are worth nothing without it."""

import os
import platform
import shutil
import sys

from context import torch_cuda, version_of
from part import Part, checked_row, info_row

ASK_GPU = "name,driver_version,memory.total,mig.mode.current"
ASK_DRIVER = """
import ctypes
library, number, name = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.create_string_buffer(200)
status = library.cuInit(0)
library.cuDriverGetVersion(ctypes.byref(number))
device = ctypes.c_int()
status = status or library.cuDeviceGet(ctypes.byref(device), 0) or library.cuDeviceGetName(name, 200, device)
print(status, "%d.%d" % (number.value // 1000, number.value % 1000 // 10), name.value.decode())
"""
PACKAGES = ("torch", "jax", "cupy-cuda13x", "cupy-cuda12x", "triton")


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "not there"


def processor():
    for line in text_of("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def gpu(context):
    queried = context.run(context.on_gpu([sys.executable, "-c", ASK_DRIVER]), 60)
    status, cuda, name = (queried.out.strip().split(" ", 2) + ["", "", ""])[:3]
    driver = ""
    if shutil.which("nvidia-smi") and not context.simulated:
        lines = context.run(["nvidia-smi", "--query-gpu=" + ASK_GPU, "--format=csv,noheader"], 30).out.splitlines()
        driver = lines[0].split(", ")[1] if lines and lines[0].count(", ") else ""
        yield info_row("nvidia-smi", lines[0] if lines else "says nothing")
    real = not name.startswith("Simulated")
    yield checked_row("GPU", status == "0" and (real or context.simulated), name or "none", "cuInit gives 0",
                      queried.last_lines() or ("cuInit gave " + status if real else "that is the simulated one: --simulated"), gpu=name)
    yield info_row("driver", ("%s, " % driver if driver else "") + "CUDA " + (cuda or "unknown"), driver=driver, cuda=cuda)


def run(context):
    yield from gpu(context)
    there = ["%s %s" % (name, version_of(name)) for name in PACKAGES if version_of(name)]
    yield info_row("Python", "%s; %s" % (platform.python_version(), ", ".join(there) or "none of PyTorch, JAX, CuPy, Triton"))
    yield info_row("PyTorch's CUDA", torch_cuda() or "no PyTorch for CUDA")
    yield info_row("system", "Linux %s, %s" % (platform.release(), platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
                                               if hasattr(platform, "freedesktop_os_release") else "unknown"))
    yield info_row("processors", "%d of %d, %s, load %s" % (len(os.sched_getaffinity(0)), os.cpu_count(), processor(),
                                                            " ".join(text_of("/proc/loadavg").split()[:3])))
    yield info_row("limits", "perf_event_paranoid %s, Yama %s, uid %d" % (text_of("/proc/sys/kernel/perf_event_paranoid"),
                                                                          text_of("/proc/sys/kernel/yama/ptrace_scope"), os.geteuid()))
    version = context.cli("--version")
    yield checked_row("gpuprof", version.status == 0, version.out.strip(), "runs here", version.last_lines())


PART = Part("machine", "what the machine is", 60, (), run)
