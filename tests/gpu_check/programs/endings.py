# SPDX-License-Identifier: Apache-2.0
"""Forty kernels, then an end. What it prints is the same in each run.

usage: endings.py torch|driver return|exit3|_exit|exception|kill|abort|fork|long|assert REST

long: by the driver only; assert: by PyTorch only; kill: so many seconds after the last kernel."""

import os
import resource
import signal
import sys
import time

LAUNCHES = 40
LONG_CLOCKS = 1_000_000_000  # half a second


def by_driver():
    from cuda_driver import Driver
    driver = Driver()
    stream = driver.stream()
    for _ in range(LAUNCHES):
        driver.launch("gpu_check_empty", stream)
    driver.wait(stream)
    return driver


def by_torch():
    import torch
    value = torch.zeros(8, device="cuda")
    torch.cuda.synchronize()
    for _ in range(LAUNCHES):
        value.add_(1)
    print("sum %d" % value.sum().item(), flush=True)


def long_kernel(driver):
    """It is in flight when the program returns."""
    driver.launch("gpu_check_spin", driver.stream(), LONG_CLOCKS)


def fork():
    child = os.fork()
    if child == 0:
        print("in the child", flush=True)
        os._exit(5)
    print("the child gave %d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def device_assert():
    """Sticky: the context is gone."""
    import torch
    try:
        torch.ones(4, device="cuda")[torch.tensor([9], device="cuda")].sum().item()
    except RuntimeError:
        print("the device gave up", flush=True)
    os._exit(4)


def end(how, driver):
    if how == "exit3":
        sys.exit(3)
    if how == "exception":
        raise RuntimeError("as asked")
    if how == "_exit":
        os._exit(6)
    if how == "kill":
        time.sleep(float(sys.argv[3]))
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "abort":
        os.abort()
    if how == "fork":
        fork()
    if how == "long":
        long_kernel(driver)
    if how == "assert":
        device_assert()


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    driver = {"torch": by_torch, "driver": by_driver}[sys.argv[1]]()
    print("launched %d" % LAUNCHES, flush=True)
    end(sys.argv[2], driver)


if __name__ == "__main__":
    main()
