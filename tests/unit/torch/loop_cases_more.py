# SPDX-License-Identifier: Apache-2.0
"""Handlers, nested functions, threads, scripts."""

import contextlib
import itertools
import threading

from loop_operators import (LIBRARY, add, evaluate, forward, grad, loss, mm, program, relu, step,
                            train_step, zero)


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


class Model:
    def __call__(self, text):  # called by C code
        train_step()
        return text + [0]


model = Model()
CODES = []  # of scripts; looked at after they ran

LONG = "def long_body():\n for _ in range(6):  # loop: main\n  mm()\n" + \
    "  x = 1 if _ else 2\n" * 400 + "  step()\n return {'main': 6}\n"


# As scripts have them: variables of a module are in a dictionary, not in the frame.
SCRIPTS = {
    "script_for": ("for batch in range(6):  # loop: main\n train_step()\n", {"main": 6}),
    "script_list": ("for batch in [1.5] * 6:  # loop: main\n train_step()\n", {"main": 6}),
    "script_while": ("n = 0\nwhile n < 6:  # loop: main\n n += 1\n train_step()\n", {"main": 6}),
    # In most rounds nothing but the call of the model runs operators.
    "script_logged": ("text = [0]\nwhile len(text) < 13:  # loop: main\n text = model(text)\n"
                      " if len(text) % 4 == 0:\n  loss()\n", {"main": 12}),
    "script_map": ("for batch in range(6):  # loop: main\n list(map(model, [[0]] * 3))\n step()\n",
                   {"main": 6}),
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


def made(name, text):
    """The function `name` of a source that is kept nowhere else."""
    scope = dict(globals())
    exec(compile(text, "long", "exec"), scope)
    return scope[name]


program(made("long_body", LONG))
for one in SCRIPTS:
    program(script(one))
