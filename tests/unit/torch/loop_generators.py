# SPDX-License-Identifier: Apache-2.0
"""Programs whose loops are driven by generators, coroutines and iterators in Python."""

import asyncio

from loop_operators import forward, loss, mm, program, relu, step, train_step


def batches(count):
    for _ in range(count):  # loop: loader
        mm()
        relu()
        yield 1


@program
def generator_drives():
    for _ in batches(6):  # loop: main
        forward()
        step()
    return {"main": 6, "loader": 6}


@program
def generator_drives_alone():
    for _ in batches(6):
        pass
    return {"loader": 6}


@program
def generator_holds_both():
    def trained():
        for _ in range(6):  # loop: main
            forward()
            yield 1
            step()
    for _ in trained():
        loss()
    return {"main": 6}


@program
def generator_with_one_operator():
    def trained():
        for _ in range(6):
            yield train_step()
    for _ in trained():  # loop: main
        loss()
    return {"main": 6}


@program
def delegated_generator():
    def outer():
        yield from batches(6)
    for _ in outer():  # loop: main
        step()
    return {"main": 6, "loader": 6}


@program
def coroutine():
    async def one():
        forward()
        await asyncio.sleep(0)
        step()

    async def main():
        for _ in range(6):  # loop: main
            await one()
    asyncio.run(main())
    return {"main": 6}


@program
def async_for():
    async def source():
        for _ in range(6):
            mm()
            await asyncio.sleep(0)
            yield 1

    async def main():
        async for _ in source():  # loop: main
            forward()
            step()
    asyncio.run(main())
    return {"main": 6}


class Loader:
    """As torch.utils.data.DataLoader: its __next__ is Python."""

    def __init__(self, count):
        self.left = count

    def __iter__(self):
        return self

    def __next__(self):
        mm()
        if not self.left:
            raise StopIteration
        self.left -= 1
        return relu()


def progress(loader):
    for one in loader:
        yield one


@program
def loader_in_python():
    # What only finds that there is no more counts as one, too.
    for _ in Loader(6):  # loop: main
        train_step()
    return {"main": 7}


@program
def progress_bar():
    for _ in progress(Loader(6)):  # loop: main
        train_step()
    return {"main": 7}


@program
def enumerated_generator():
    for _, _ in enumerate(batches(6)):  # loop: main
        forward()
        step()
    return {"main": 6, "loader": 6}


@program
def loops_with_one_iterator_in_python():
    for _ in range(3):  # loop: outer
        for _ in Loader(4):  # loop: main
            train_step()
    return {"outer": 3, "main": 15}
