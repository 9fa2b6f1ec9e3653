# SPDX-License-Identifier: Apache-2.0
"""A program on the CUDA driver API that says exactly what it did.

usage: driver_app.py WHAT [--steps N] [--nodes N] [--launches N] [--threads N] [--seconds S]

work      N steps of 20 kernels on two streams, two copies and a set
graph     N replays of a graph of so many kernels
storm     so many empty kernels on four streams
threads   the same from so many threads, each with a stream of its own
events    N times one kernel, and one between two events behind it, with the program's own times
replays   replays of a graph, N at most, for S seconds at most, with the memory that the device has left
forever   the steps of `work` until SIGTERM; its process id comes first
replaying replays of a graph of N nodes until SIGTERM; its process id comes first

The last line of its output is JSON: `counts` by name, and what else it knows. All times are CLOCK_MONOTONIC, ns."""

import argparse
import ctypes
import json
import os
import signal
import threading
import time

from cuda_driver import Driver

KERNELS, STREAMS, BYTES = 20, 2, 1 << 16
BUSY_CLOCKS = 1_000_000


class Steps:
    def __init__(self, driver):
        self.driver = driver
        self.streams = [driver.stream() for _ in range(STREAMS)]
        self.device, self.host = driver.memory(BYTES), bytes(BYTES)
        self.back = bytearray(BYTES)

    def step(self):
        driver, first = self.driver, self.streams[0]
        buffer = (ctypes.c_char * BYTES).from_buffer(self.back)
        driver.copy_in(self.device, self.host, first)
        driver.set(self.device, BYTES, first)
        for number in range(KERNELS):
            driver.launch("gpu_check_empty", self.streams[number % STREAMS])
        driver.launch("gpu_check_spin", first, 20000)
        driver.copy_out(buffer, self.device, first)
        driver.wait()


def work(driver, options):
    steps = Steps(driver)
    for _ in range(options.steps):
        steps.step()
    return {"steps": options.steps}


def forever(driver, _):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    steps, done = Steps(driver), 0
    while not ended:
        steps.step()
        done += 1
        time.sleep(0.005)
    return {"steps": done}


def replaying(driver, options):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    stream = driver.stream()
    ready, done = driver.graph(stream, options.nodes), 0
    while not ended:
        driver.call("cuGraphLaunch", ready, stream)
        driver.wait(stream)
        done += 1
        time.sleep(0.002)
    return {"graph_launches": done}


def graph(driver, options):
    stream = driver.stream()
    ready = driver.graph(stream, options.nodes)
    for _ in range(options.steps):
        driver.call("cuGraphLaunch", ready, stream)
    driver.wait(stream)
    driver.counts["gpu_check_empty"] += options.steps * options.nodes
    return {"graph_launches": options.steps}


def storm(driver, options):
    streams = [driver.stream() for _ in range(4)]
    launches = [driver.launcher("gpu_check_empty", stream) for stream in streams]
    began = time.monotonic_ns()
    for _ in range(options.launches // 4):
        for launch in launches:
            launch()
    driver.wait()
    driver.counts["gpu_check_empty"] += options.launches // 4 * 4
    return {"ns": time.monotonic_ns() - began}


def threads(driver, options):
    """Each with a stream of its own; Python lets others on while one is in a call."""
    each = options.launches // options.threads

    def launch_all():
        driver.join()
        stream = driver.stream()
        launch = driver.launcher("gpu_check_empty", stream)
        for _ in range(each):
            launch()
        driver.wait(stream)
    workers = [threading.Thread(target=launch_all) for _ in range(options.threads)]
    began = time.monotonic_ns()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    driver.counts["gpu_check_empty"] += each * options.threads
    return {"ns": time.monotonic_ns() - began}


def events(driver, options):
    stream = driver.stream()
    marks = [(driver.event(), driver.event()) for _ in range(options.steps)]
    results = []
    for number, (first, second) in enumerate(marks):
        before = time.monotonic_ns()
        # The device is busy until all three are there: no time of the host is between the events.
        driver.launch("gpu_check_spin", stream, BUSY_CLOCKS)
        driver.call("cuEventRecord", first, stream)
        driver.launch("gpu_check_spin", stream, 20000 + 20000 * (number % 5))
        driver.call("cuEventRecord", second, stream)
        driver.wait(stream)
        results.append({"before_ns": before, "after_ns": time.monotonic_ns(), "event_ns": driver.elapsed_ns(first, second)})
    return {"kernels": results}


def replays(driver, options):
    stream = driver.stream()
    ready = driver.graph(stream, options.nodes)
    driver.call("cuGraphLaunch", ready, stream)
    driver.wait(stream)
    done, free, end = 1, [driver.free_bytes()], time.monotonic() + options.seconds
    while done < options.steps and time.monotonic() < end:
        for _ in range(min(50, options.steps - done)):
            driver.call("cuGraphLaunch", ready, stream)
            done += 1
        driver.wait(stream)
        free.append(driver.free_bytes())
    driver.counts["gpu_check_empty"] += done * options.nodes
    return {"graph_launches": done, "free_bytes": free}


WHAT = {"work": work, "graph": graph, "storm": storm, "events": events, "replays": replays, "threads": threads,
        "forever": forever, "replaying": replaying}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--launches", type=int, default=20000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    driver = Driver()
    if options.what in ("forever", "replaying"):
        print(os.getpid(), flush=True)
    results = WHAT[options.what](driver, options)
    print(json.dumps(dict(results, counts=driver.counts)), flush=True)


if __name__ == "__main__":
    main()
