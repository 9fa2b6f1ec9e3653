# SPDX-License-Identifier: Apache-2.0
"""Faults that the check does not have, for its own test: each must be reported."""

import time

from part import Part, info_row
from parts import witness


def hangs(context):
    yield info_row("before it hangs", "answers")
    context.run(["sleep", "86413"], 86413)
    while True:
        time.sleep(1)


def breaks(_):
    yield info_row("before it breaks", "answers")
    raise RuntimeError("planted")


def wrong(context):
    """The program's own count is one too many."""
    yield witness.by_driver(context, name="one kernel too few", twist=1)


PARTS = [Part("hang", "a part that never ends", 3, (), hangs), Part("break", "a part that ends in an exception", 120, (), breaks),
         Part("wrong", "a program that says one kernel more than it launched", 300, (), wrong)]
