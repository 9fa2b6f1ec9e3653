# SPDX-License-Identifier: Apache-2.0
"""Loops as training programs have them."""

from loop_operators import (evaluate, forward, grad, mm, program, step, train_epoch, train_step,
                            zero)


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


@program
def loop_in_constructor():
    class Trained:
        def __init__(self):
            for _ in range(4):  # loop: main
                train_step()
    for _ in range(6):  # loop: models
        Trained()
    return {"main": 24, "models": 6}
