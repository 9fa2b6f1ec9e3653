# SPDX-License-Identifier: Apache-2.0
"""Launches one kernel from many places at one depth of the native stack; the width of each launch's grid is the number
of the Python stack that it came from.

usage: many_places.py ROUNDS FILE    (FILE gets the stacks by number)"""

import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "gpu_check", "programs"))
import cuda_driver  # noqa: E402

numbers, lock = {}, threading.Lock()


def number_of_caller():
    frame, stack = sys._getframe(2), []
    while frame is not None:
        stack.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    with lock:
        return numbers.setdefault(tuple(stack), len(numbers) + 1)


def launch(driver, stream):
    driver.call("cuLaunchKernel", driver.kernels["gpu_check_empty"], number_of_caller(), 1, 1, 1, 1, 1, 0, stream,
                None, None)


def first(*where):
    launch(*where)
    launch(*where)


def second(*where):
    launch(*where)


def deep(depth, *where):
    if depth > 0:
        return deep(depth - 1, *where)
    return launch(*where)


def places(*where):
    for _ in range(2):
        launch(*where)
        yield
    second(*where)
    yield


class Layer:
    def __call__(self, *where):
        first(*where)
        list(map(lambda one: second(*where), range(2)))


def made(number, where):
    """Code that is freed, and other code made in its place."""
    scope = {"launch": launch, "where": where}
    exec(compile("%slaunch(*where)" % ("\n" * number), "made.py", "exec"), scope)  # pylint: disable=exec-used


def work(rounds, driver, stream):
    where, layers = (driver, stream), [Layer() for _ in range(3)]
    for one in range(rounds):
        first(*where)
        second(*where)
        for layer in layers:
            layer(*where)
        deep(one % 5, *where)
        for _ in places(*where):
            pass
        made(one % 7, where)
        if one % 3 == 0:
            launch(*where)
        else:
            launch(*where)


def beside(rounds, driver):
    driver.join()
    work(rounds, driver, driver.stream())


def main():
    rounds, driver = int(sys.argv[1]), cuda_driver.Driver()
    threads = [threading.Thread(target=beside, args=(rounds, driver)) for _ in range(2)]
    for thread in threads:
        thread.start()
    work(rounds, driver, driver.stream())
    for thread in threads:
        thread.join()
    driver.wait()
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump([[number, stack] for stack, number in numbers.items()], file)


main()
