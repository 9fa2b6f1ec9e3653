# SPDX-License-Identifier: Apache-2.0
"""A program whose every legal Python stack is known, for check_frames.py.

A line that calls Python code says so: the words after the arrow are the functions that may be the
next inner frame ("stdlib": any of the standard library). A frame on a line without an arrow must be
the innermost one. Runs on 3.8+.

usage: grammar_target.py PROBE.so OUT SAMPLES    sampled by the probe
       grammar_target.py SECONDS                 of processor time, sampled by whoever started it
"""
import asyncio
import ctypes
import functools
import gc
import os
import sys
import threading
import time

LONGEST_SECONDS = 150
STOP = threading.Event()


def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def ping(depth):
    if depth <= 0:
        return leaf(20)  #> leaf
    return pong(depth - 1) + 1  #> pong


def pong(depth):
    if depth <= 0:
        return leaf(15)  #> leaf
    value = ping(depth - 1)  #> ping
    return value + 2


def through_c():
    key = lambda x: leaf(x % 7)  #> leaf
    values = sorted(range(30), key=key)  #> <lambda>
    mapped = list(map(lambda x: ping(x % 3), values))  #> <lambda> ping
    return functools.reduce(lambda a, b: a + leaf(b % 5), mapped)  #> <lambda> leaf


def numbers(n):
    for i in range(n):
        leaf(3)  #> leaf
        yield i


def nested_numbers(n):
    yield from numbers(n)  #> numbers
    yield leaf(4)  #> leaf


def generators():
    total = 0
    for value in nested_numbers(12):  #> nested_numbers
        total += leaf(value % 4)  #> leaf
    total += sum(leaf(x % 3) for x in numbers(6))  #> <genexpr> numbers leaf
    squares = [leaf(x) for x in range(4)]  #> <listcomp> leaf
    return total + sum(squares)


def raises(n):
    if n == 0:
        raise ValueError("bottom")
    leaf(2)  #> leaf
    raises(n - 1)  #> raises


def exceptions():
    try:
        raises(6)  #> raises
    except ValueError:
        return leaf(8)  #> leaf


class Outer:
    class Inner:
        def method(self, n):
            return self.größe + leaf(n)  #> größe leaf

        @property
        def größe(self):
            return leaf(5)  #> leaf

    def __init__(self):
        self.inner = Outer.Inner()
        self.value = 1

    def __getattr__(self, name):
        return leaf(3)  #> leaf

    def __add__(self, other):
        return self.inner.method(other)  #> method


def 函数(x):
    return 𠮷(x) + 1  #> 𠮷


def 𠮷(x):
    return leaf(x)  #> leaf


def objects():
    outer = Outer()  #> __init__
    total = outer.missing  #> __getattr__
    total += outer + 6  #> __add__
    return total + 函数(4)  #> 函数


MADE = '''
def made(n):
    return leaf(n)  #> leaf
def %s(n):
    return made(n)  #> made
result = %s(9)  #> %s
class Body:  #> Body
    value = leaf(3)  #> leaf
''' % (("n" * 5000,) * 3)


def executes():
    exec(compile(MADE, "<made>", "exec"), {"leaf": leaf, "__name__": "made"})  #> <module>


LIB = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def compare(a, b):
    return a[0] - b[0] + 0 * leaf(3)  #> leaf


def callbacks():
    values = (ctypes.c_int * 6)(5, 3, 1, 4, 2, 0)
    LIB.qsort(values, 6, 4, COMPARE(compare))  #> compare stdlib
    return values[0]


async def awaits(n):
    if n == 0:
        await asyncio.sleep(0)  #> stdlib
        return leaf(6)  #> leaf
    return await awaits(n - 1)  #> awaits


async def gathers():
    return await asyncio.gather(awaits(2), awaits(3), awaits(1))  #> stdlib awaits


def event_loop():
    return asyncio.run(gathers())  #> stdlib gathers


LONG = ("def long_table(n):\n    x = n\n" + "    x = (x * 3 + n) % 1000003\n" * 250 +
        "    return leaf(x % 3)  #> leaf\n")
exec(compile(LONG, "<long>", "exec"))


def one_round():
    ping(6)  #> ping
    through_c()  #> through_c
    generators()  #> generators
    exceptions()  #> exceptions
    objects()  #> objects
    executes()  #> executes
    callbacks()  #> callbacks
    long_table(3)  #> long_table


def worker(kind):
    while not STOP.is_set():  #> stdlib
        one_round()  #> one_round
        if kind == 1:
            event_loop()  #> event_loop


def main(probe_path, out, samples):
    probe = ctypes.CDLL(probe_path)
    gc.disable()
    one_round()  #> one_round
    event_loop()  #> event_loop
    threads = [threading.Thread(target=worker, args=(k,)) for k in range(3)]  #> <listcomp> stdlib
    for thread in threads:
        thread.start()  #> stdlib
    start, stop, taken = (probe.gpuprof_probe_start, probe.gpuprof_probe_stop,
                          probe.gpuprof_probe_samples)
    if start(out.encode(), 2000) != 0:
        os._exit(3)
    end = time.monotonic() + LONGEST_SECONDS
    while taken() < samples and time.monotonic() < end:
        one_round()  #> one_round
    stop()
    STOP.set()  #> stdlib
    for thread in threads:
        thread.join()  #> stdlib


def alone(seconds):
    threads = [threading.Thread(target=worker, args=(k,)) for k in range(3)]  #> <listcomp> stdlib
    for thread in threads:
        thread.start()  #> stdlib
    end = time.process_time() + seconds
    while time.process_time() < end:
        one_round()  #> one_round
    STOP.set()  #> stdlib
    for thread in threads:
        thread.join()  #> stdlib


if __name__ == "__main__":
    if len(sys.argv) == 2:
        alone(float(sys.argv[1]))  #> alone
    else:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))  #> main
