# SPDX-License-Identifier: Apache-2.0
"""All parts in the order in which they run: what matters most comes first, what reads the others' traces after them."""

from parts import (attach, clocks, cost, cupti, doctor, endings, graphs, machine, memory, order, own_profiler, planted, storm,
                   witness)

PARTS = [machine.PART, doctor.PART, witness.PART, attach.ATTACH, attach.CAPTURE, own_profiler.PART, graphs.PART, cupti.PART,
         endings.PART, clocks.PART, storm.PART, order.PART, cost.PART, memory.PART]
PLANTED = planted.PARTS
# Made of the others' rows, without a run of its own.
ROWS, ROWS_ABOUT = "rows", "the rows of docs/gpu-checks.md, answered from the other parts"


def by_name(name):
    return next((part for part in PARTS + PLANTED if part.name == name), None)
