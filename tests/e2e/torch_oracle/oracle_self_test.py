# SPDX-License-Identifier: Apache-2.0
"""The comparer must find every kind of lie, and none in two equal traces.

usage: oracle_self_test.py [--torch]   (with it also on a real trace of torch.profiler)"""

import copy
import os
import sys

import differences
import e2e
import operators_test
from torch_trace import Operator, Trace


def synthetic():
    trace = Trace()

    def add(name, begin, end, dims=None, kind=None, number=None, identity=None, rows=None):
        args = {"External id": identity or begin}
        if dims is not None:
            args.update({"Input Dims": dims, "Input type": kind})
        if number is not None:
            args["Sequence number"] = number
        (trace.operators if rows is None else rows).append(
            Operator(name, begin, end, 7, args, "cpu_op"))

    add("forward", 1, 100)
    add("nn.Module: Net_0", 5, 80, rows=trace.modules)
    add("nn.Module: Linear_0", 10, 30, rows=trace.modules)
    add("aten::linear", 10, 30, [[2, 3], [4, 3], []], ["float", "float", ""], 0)
    add("aten::addmm", 12, 28, [[4], [2, 3], [3, 4]], ["float"] * 3, 0)
    add("nn.Module: Linear_1", 40, 60, rows=trace.modules)
    add("aten::cat", 41, 59, [[[2, 3], [2, 3]], []], ["TensorList", "Scalar"], 1)
    add(differences.PARENT + " AddmmBackward0", 110, 150, number=0)
    add("AddmmBackward0", 112, 148, [[2, 4]], ["float"], 0)
    add("aten::mm", 113, 120, [[2, 4], [4, 3]], ["float", "float"])
    for i, size in enumerate((512, 256, -512)):
        trace.memory.append((13 + i, dict(zip(differences.MEMORY, (4096 + i, size, 768, 0, 0, -1)))))
    trace.kernels = [("gemm", {"correlation": 1, "External id": 12}),
                     ("cat", {"correlation": 2, "External id": 41})]
    return trace.sort()


def pick(trace, name):
    return [o for o in trace.operators if o.name == name][-1]


def named(trace, exact):
    return next(o for o in trace.operators if o.args.get("Input Dims") and o.name == exact)


def lies(name):
    """An operator `name` with inputs and a number is reported wrong in all ways."""
    def change(field, value):
        return lambda t: named(t, name).args.__setitem__(field, value)
    return {
        "an operator is missing": lambda t: t.operators.remove(named(t, name)),
        "an operator twice": lambda t: t.operators.append(copy.deepcopy(named(t, name))),
        "another name": lambda t: setattr(named(t, name), "name", "aten::other"),
        "another thread": lambda t: setattr(named(t, name), "tid", 8),
        "other shapes": change("Input Dims", [[1]]),
        "no shapes": lambda t: named(t, name).args.pop("Input Dims"),
        "other types": change("Input type", ["double"]),
        "other values": change("Concrete Inputs", ["2."]),
        "another number": change("Sequence number", 12345),
    }


def all_differences(reference, recorded):
    return (differences.remove_crossing(reference, recorded) + differences.operators(reference, recorded)
            + differences.sequence_numbers(recorded) + differences.memory(reference, recorded)
            + differences.modules(reference, recorded) + differences.kernels(reference, recorded)[0])


def check_lies(checks, trace, name, more):
    checks.equal(all_differences(trace, copy.deepcopy(trace)), [], "equal traces")
    for lie, change in {**lies(name), **more}.items():
        altered = copy.deepcopy(trace)
        change(altered)
        checks.expect(all_differences(trace, altered), "not found: " + lie)


OTHERS = {
    "a parent with a number of its own": lambda t: next(
        o for o in t.operators if o.name.startswith(differences.PARENT)).args.update(
            {"Sequence number": 77777}),
    "an operator that is said to cross others": lambda t: t.crossing.append(
        (t.operators[0].name, t.operators[0].tid, t.operators[0].start)),
    "a record of memory missing": lambda t: t.memory.pop(),
    "other bytes": lambda t: t.memory[0][1].update({"Bytes": 1}),
    "another address": lambda t: t.memory[0][1].update({"Addr": 1}),
    "other totals": lambda t: t.memory[-1][1].update({"Total Allocated": 1}),
    "another order": lambda t: t.memory.reverse(),
    "a module missing": lambda t: t.modules.remove(
        next(m for m in t.modules if m.name.startswith(differences.MODULE + "Linear"))),
    "a module of another name": lambda t: setattr(
        next(m for m in t.modules if m.name.startswith(differences.MODULE + "Linear")), "name",
        differences.MODULE + "Other_0"),
}
OF_KERNELS = {
    "a kernel of another operator": lambda t: t.kernels[0][1].update({"External id": 41}),
    "a kernel without operator": lambda t: t.kernels[0][1].update({"External id": 0}),
    "a kernel missing": lambda t: t.kernels.pop(),
}


def main():
    checks = e2e.Checks()
    check_lies(checks, synthetic(), "aten::addmm", {**OTHERS, **OF_KERNELS})
    without = synthetic()
    pick(without, differences.PARENT + " AddmmBackward0").args.pop("Sequence number")
    checks.equal(all_differences(synthetic(), without), [], "a parent may leave the number to the node")
    if "--torch" in sys.argv[1:]:
        python = operators_test.python_with_torch()
        with e2e.Folder("oracle-self") as folder:
            operators_test.start(python, "mlp", "stack", folder, under=False)
            trace, _ = operators_test.read_reference(folder)
            check_lies(checks, trace, "aten::addmm", OTHERS)
            checks.expect(os.path.getsize(os.path.join(folder, "kineto.json")) > 10000, "a trace")
    checks.done()


if __name__ == "__main__":
    main()
