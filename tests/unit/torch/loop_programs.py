# SPDX-License-Identifier: Apache-2.0
"""Programs with loops of every kind; each knows how often its loops go round.

    loop_programs.py LIBRARY     prints "PROGRAM LOOP TRUTH COUNTED strong weak first" for each loop

A loop that is judged has `# loop: NAME` behind its head. An operator is a call of the library.
"""

import asyncio
import contextlib
import ctypes
import dis
import functools
import itertools
import re
import sys
import threading

LIBRARY = ctypes.CDLL(sys.argv[1])
LIBRARY.probe_mark.argtypes = [ctypes.c_char_p]


def operator(name):
    return functools.partial(LIBRARY.probe_mark, name.encode())


mm, relu, loss, grad, step, zero, add = (
    operator(name) for name in ("mm", "relu", "loss", "grad", "step", "zero", "add"))


def forward():
    mm()
    relu()


def train_step():
    forward()
    loss()
    grad()
    step()


PROGRAMS = []
CODES = []  # of scripts; looked at after they ran


def program(function):
    PROGRAMS.append(function)
    return function


@program
def plain():
    for _ in range(7):  # loop: main
        mm()
        grad()
        step()
    return {"main": 7}


@program
def one_call_site():
    for _ in range(7):  # loop: main
        train_step()
    return {"main": 7}


@program
def two_call_sites():
    for _ in range(6):  # loop: main
        forward()
        forward()
        step()
    return {"main": 6}


@program
def only_calls_twice():
    for _ in range(6):  # loop: main
        train_step()
        train_step()
    return {"main": 6}


@program
def one_operator():
    for _ in range(9):  # loop: main
        mm()
    return {"main": 9}


@program
def while_test():
    n = 0
    while n < 8:  # loop: main
        n += 1
        train_step()
    return {"main": 8}


@program
def while_true():
    n = 0
    while True:  # loop: main
        train_step()
        zero()
        n += 1
        if n == 5:
            break
    return {"main": 5}


@program
def while_continue():
    n = 0
    while n < 12:  # loop: main
        n += 1
        mm()
        if n % 3 == 0:
            continue
        grad()
        if n % 4 == 0:
            continue
        step()
    return {"main": 12}


@program
def while_one_continue():
    n = 0
    while 1:  # loop: main
        n += 1
        if n == 10:
            break
        mm()
        if n % 2:
            continue
        step()
    return {"main": 9}


@program
def for_continue():
    for n in range(10):  # loop: main
        mm()
        if n % 2:
            continue
        step()
    return {"main": 10}


@program
def list_comprehension():
    assert len([train_step() for _ in range(6)  # loop: main
                ]) == 6
    return {"main": 6}


@program
def generator_expression():
    sum(train_step() or 1 for _ in range(6))  # loop: main
    return {"main": 6}


@program
def map_in_loop():
    for _ in range(5):  # loop: main
        list(map(lambda _: forward(), range(4)))
        step()
    return {"main": 5}


@program
def sum_in_loop():
    for _ in range(5):  # loop: main
        max([3, 1, 2], key=lambda _: mm())
        step()
    return {"main": 5}


@program
def accumulation():
    for _ in range(6):  # loop: outer
        for _ in range(4):  # loop: inner
            forward()
            grad()
        step()
    return {"outer": 6, "inner": 24}


@program
def epochs_inline():
    for _ in range(3):  # loop: epochs
        for _ in range(5):  # loop: train
            train_step()
        for _ in range(4):  # loop: evaluate
            forward()
    return {"epochs": 3, "train": 15, "evaluate": 12}


def train_epoch():
    for _ in range(5):  # loop: train
        train_step()


def evaluate():
    for _ in range(4):  # loop: evaluate
        forward()


@program
def epochs_in_functions():
    for _ in range(3):  # loop: epochs
        train_epoch()
        evaluate()
    return {"epochs": 3, "train": 15, "evaluate": 12}


@program
def same_function_again():
    train_epoch()
    train_epoch()
    return {"train": 10}


@program
def recursion():
    def tree(depth):
        mm()
        if depth:
            for _ in range(2):
                tree(depth - 1)
    for _ in range(6):  # loop: main
        tree(3)
        step()
    return {"main": 6}


@program
def loop_in_recursion():
    def down(depth):
        if depth:
            return down(depth - 1)
        for _ in range(7):  # loop: main
            train_step()
    down(30)
    return {"main": 7}


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


@program
def breaks_and_comes_again():
    for _ in range(3):  # loop: outer
        for n in range(10):  # loop: inner
            forward()
            step()
            if n == 3:
                break
    return {"outer": 3, "inner": 12}


@program
def handler_continues():
    for n in range(9):  # loop: main
        try:
            forward()
            if n % 3 == 2:
                raise RuntimeError
        except RuntimeError:
            zero()
            continue
        step()
    evaluate()
    return {"main": 9, "evaluate": 4}


@program
def handler_goes_on():
    for n in range(9):  # loop: main
        try:
            forward()
            if n % 3 == 2:
                raise RuntimeError
        except RuntimeError:
            zero()
        grad()
        step()
    return {"main": 9}


@program
def import_fails_first():
    try:
        raise ImportError
    except ImportError:
        pass
    for _ in range(6):  # loop: main
        with contextlib.suppress(ValueError):
            forward()
        grad()
        step()
    evaluate()
    return {"main": 6, "evaluate": 4}


@program
def all_in_a_handler():
    try:
        raise ImportError
    except ImportError:
        for _ in range(6):  # loop: main
            forward()
            step()
    return {"main": 6}


@program
def all_in_try_finally():
    try:
        for _ in range(6):  # loop: main
            try:
                train_step()
            finally:
                zero()
    finally:
        mm()
    return {"main": 6}


@program
def with_block():
    for _ in range(6):  # loop: main
        with contextlib.suppress(ValueError):
            loss()
            forward()
        step()
    return {"main": 6}


@program
def while_ends_a_for():
    for _ in range(4):  # loop: outer
        n = 0
        zero()
        while n < 3:  # loop: inner
            n += 1
            mm()
            step()
    return {"outer": 4, "inner": 12}


@program
def tokens():
    requests = 0
    while True:  # loop: requests
        requests += 1
        zero()
        if requests == 4:
            break
        n = 0
        while True:  # loop: tokens
            mm()
            n += 1
            if n == 5:
                break
            relu()
    return {"requests": 4, "tokens": 15}


@program
def alternating_callees():
    def one():
        mm()

    def other():
        relu()
        grad()
    for n in range(8):  # loop: main
        (one, other)[n % 2]()
    return {"main": 8}


@program
def closure_style():
    def optimizer(closure):
        closure()
        step()
    for _ in range(6):  # loop: main
        optimizer(lambda: (forward(), grad()))
    return {"main": 6}


@program
def critic():
    for _ in range(4):  # loop: main
        for _ in range(5):  # loop: critic
            forward()
            step()
        loss()
        zero()
    return {"main": 4, "critic": 20}


@program
def compiled_step():
    def run():
        LIBRARY.probe_mark(b"CompiledFunction")
        LIBRARY.probe_mark(b"CompiledFunction.inner")
    for _ in range(6):  # loop: main
        run()
    return {"main": 6}


@program
def engine_operators():
    def backward():
        for name in (b"autograd::engine::a", b"autograd::engine::a"):
            LIBRARY.probe_mark(name)
    for _ in range(6):  # loop: main
        forward()
        backward()
    return {"main": 6}


@program
def iterators():
    for _, (_, _) in enumerate(zip(range(6), itertools.count())):  # loop: main
        train_step()
        zero()
    else:
        mm()
    return {"main": 6}


@program
def thread():
    def work():
        for _ in range(6):  # loop: main
            train_step()
    for _ in range(2):
        one = threading.Thread(target=work)
        one.start()
        one.join()
    return {"main": 12}


@program
def deep():
    def down(depth):
        return down(depth - 1) if depth else train_step()
    for _ in range(6):  # loop: main
        down(100)
        zero()
    return {"main": 6}


class Trainer:
    def __init__(self):
        self.hooks = [lambda: mm(), lambda: relu()]

    def fit(self):
        for epoch in range(2):  # loop: epochs
            for batch in range(5):  # loop: main
                self.training_step(batch)
            self.validate()

    def training_step(self, batch):
        for hook in self.hooks:
            hook()
        if batch % 2:
            loss()
        step()

    def validate(self):
        for _ in range(3):
            forward()


@program
def trainer():
    Trainer().fit()
    return {"epochs": 2, "main": 10}


@program
def only_loops():
    def train():
        for _ in range(4):  # loop: inner
            train_step()
    for _ in range(3):  # loop: outer
        train()
    return {"outer": 3, "inner": 12}


@program
def either_or():
    for n in range(8):  # loop: main
        if n % 2:
            relu()
        else:
            mm()
    return {"main": 8}


@program
def sum_of_losses():
    for _ in range(5):  # loop: main
        forward()
        list(map(step, (), ())) or list(map(lambda _: loss(), range(3)))
        list(itertools.starmap(add, [()] * 4))
    return {"main": 5}


@program
def reduce_in_an_argument():
    for _ in range(5):  # loop: main
        list(itertools.starmap(add, [()] * 4))
    return {"main": 5}


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


@program
def zipped():
    for _, _ in zip(range(7), itertools.cycle("ab")):  # loop: main
        train_step()
    return {"main": 7}


@program
def until_sentinel():
    left = list(range(7))
    for _ in iter(left.pop, 0):  # loop: main
        train_step()
    return {"main": 6}


@program
def inside_with():
    with contextlib.suppress(ValueError):
        for _ in range(3):  # loop: outer
            zero()
            for n in range(5):  # loop: inner
                with contextlib.suppress(ValueError):
                    forward()
                    if n == 3:
                        break
    return {"outer": 3, "inner": 12}


@program
def loops_at_every_depth():
    def tree(depth):
        for _ in range(2):
            mm()
            if depth:
                tree(depth - 1)
    for _ in range(5):  # loop: main
        tree(2)
    return {"main": 5}


@program
def nothing_changes():
    # Neither the function's variables nor an iterator tell that the loop went round.
    state = [0]

    def more():
        state[0] += 1
        return state[0] <= 6
    while more():  # loop: main
        train_step()
    return {"main": 6}


LONG = "def long_body():\n for _ in range(6):  # loop: main\n  mm()\n" + \
    "  x = 1 if _ else 2\n" * 400 + "  step()\n return {'main': 6}\n"


# As scripts have them: variables of a module are in a dictionary, not in the frame.
SCRIPTS = {
    "script_for": ("for batch in range(6):  # loop: main\n train_step()\n", {"main": 6}),
    "script_list": ("for batch in [1.5] * 6:  # loop: main\n train_step()\n", {"main": 6}),
    "script_while": ("n = 0\nwhile n < 6:  # loop: main\n n += 1\n train_step()\n", {"main": 6}),
    "script_epochs": ("for epoch in range(3):  # loop: epochs\n"
                      " for batch in enumerate([1] * 4):  # loop: main\n"
                      "  train_step()\n", {"epochs": 3, "main": 12}),
    "script_epochs_in_functions": ("def train():\n"
                                   " for batch in range(4):  # loop: main\n"
                                   "  train_step()\n"
                                   "for epoch in range(3):  # loop: epochs\n"
                                   " train()\n", {"epochs": 3, "main": 12}),
}


def script(name):
    def run():
        CODES.append(compile(SCRIPTS[name][0], name, "exec"))
        exec(CODES[-1], dict(globals()))
        return SCRIPTS[name][1]
    run.__name__ = name
    return run


class Counted(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64)
                for name in ("code", "target", "level", "strong", "weak", "first")]

    def line(self):
        code = ctypes.cast(self.code, ctypes.py_object).value
        return max((start, line or 0) for start, line in dis.findlinestarts(code)
                   if start <= self.target)[1], code.co_filename


def heads():
    """{(file, line): name} of the loops that are judged; a while's head may be its first line."""
    with open(__file__, encoding="utf-8") as source:
        sources = {__file__: source.read(), "long": LONG,
                   **{name: text for name, (text, _) in SCRIPTS.items()}}
    found = {}
    for path, text in sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            name = re.search(r"# loop: (\w+)", line)
            if name:
                found[path, number] = name[1]
                if "while" in line:
                    found[path, number + 1] = name[1]
    return found


def main():
    if not LIBRARY.probe_start():
        print("this interpreter cannot be read")
        return 1
    exec(compile(LONG, "long", "exec"), globals())
    PROGRAMS.append(globals()["long_body"])
    PROGRAMS.extend(map(script, SCRIPTS))
    room = (Counted * 1000)()
    known = heads()
    for program in PROGRAMS:
        truth = program()
        sums = {}
        for one in room[:LIBRARY.probe_take(room, 1000)]:
            line, path = one.line()
            sums.setdefault(known.get((path, line)), []).append((one.strong, one.weak, one.first))
        for loop, times in truth.items():
            strong, weak, first = (sum(column) for column in zip(*sums.get(loop, [(0, 0, 0)])))
            print(program.__name__, loop, times, first + (strong or weak), strong, weak, first)
    return 0


if __name__ == "__main__":
    sys.exit(main())
