# SPDX-License-Identifier: Apache-2.0
"""Ends while a daemon thread works on without the GIL, inside one call: it launches kernels, or runs operators. While
Python frees what it made, what it has given back gets other contents, and the thread works on. The status is then 5.

usage: ending.py WORK.SO launches|operators"""

import ctypes
import os
import sys
import threading

MORE = 3000  # of the thread's work after Python's end has begun

work = ctypes.PyDLL(sys.argv[1])  # its calls keep the GIL
count = ctypes.c_int64(0)


class Last:
    """Freed with the modules: behind the states of all other threads."""

    # What it uses may be gone from this module by then.
    def __del__(self, reuse=work.reuse_memory, wait=work.wait_for, where=ctypes.byref(count),
                more=ctypes.c_int64(MORE), leave=os._exit):  # pylint: disable=protected-access
        reuse()
        wait(where, more)
        leave(5)


def launches():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "gpu_check", "programs"))
    import cuda_driver  # pylint: disable=import-outside-toplevel

    driver = cuda_driver.Driver()
    stream = driver.stream()

    def inner():
        free = ctypes.CDLL(sys.argv[1])  # its calls give the GIL up
        free.launch_on(driver.library.cuLaunchKernel, driver.kernels["gpu_check_empty"], stream, ctypes.byref(count))

    def outer():
        driver.join()
        inner()

    return outer


def operators():
    import torch  # pylint: disable=import-outside-toplevel

    done = torch.frombuffer(count, dtype=torch.int64)
    script = torch.jit.CompilationUnit("""
def work(done):
    while True:
        done += 1
""")
    return lambda: script.work(done)


def main():
    threading.Thread(target=globals()[sys.argv[2]](), daemon=True).start()
    ctypes.CDLL(sys.argv[1]).wait_for(ctypes.byref(count), ctypes.c_int64(MORE))


sys.modules["last"] = Last()  # forgotten with the modules, whatever frames still hold
main()
