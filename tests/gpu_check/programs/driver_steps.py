# SPDX-License-Identifier: Apache-2.0
"""Steps of 100 launches each on the CUDA driver API until SIGTERM; its process id comes first. At the end FILE holds,
as JSON, when each step began (`began_ns`, CLOCK_MONOTONIC).

usage: driver_steps.py timed FILE"""

import array
import json
import os
import signal
import sys
import time

from cuda_driver import Driver

LAUNCHES, WARM = 100, 30


def main():
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    driver = Driver()
    stream = driver.stream()
    launch = driver.launcher("gpu_check_empty", stream)

    def step():
        for _ in range(LAUNCHES):
            launch()
        driver.wait(stream)
    for _ in range(WARM):
        step()
    print(os.getpid(), flush=True)
    began = array.array("q")
    while not ended:
        began.append(time.monotonic_ns())
        step()
    began.append(time.monotonic_ns())
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump({"began_ns": began.tolist(), "breaks": [], "windows": [], "stop_ns": []}, file)


if __name__ == "__main__":
    main()
