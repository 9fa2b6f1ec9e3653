# SPDX-License-Identifier: Apache-2.0
"""Launches on and on while another thread forks once and then only waits."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "gpu_check", "programs"))
import cuda_driver  # noqa: E402

forked, over = threading.Event(), threading.Event()


def fork_once():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    forked.set()
    over.wait()


def launch_for(seconds, driver, stream):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(20):
            driver.launch("gpu_check_empty", stream)
        driver.wait(stream)
        time.sleep(0.001)


def main():
    driver = cuda_driver.Driver()
    stream = driver.stream()
    launch_for(0.5, driver, stream)
    thread = threading.Thread(target=fork_once)
    thread.start()
    forked.wait()
    begun_ns = time.monotonic_ns()
    launch_for(2, driver, stream)
    over.set()
    thread.join()
    print("forked before", begun_ns, flush=True)


main()
