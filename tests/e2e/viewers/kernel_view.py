# SPDX-License-Identifier: Apache-2.0
"""What the Kernel and Operator views should say of kernels, worked out from our trace alone.

Which kernels use matrix units ("tensor cores") follows from the types of the operators that launched
them: products of 16-bit numbers do, on the simulated A100 all others do not."""

import bisect
import collections

PRODUCTS = ("aten::addmm", "aten::mm")
SHORT = ("c10::Half", "c10::BFloat16")


class Kernels:
    """Kernels of a trace, with the operators around their launches."""

    def __init__(self, trace):
        events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        self.kernels = [e for e in events if e["cat"] == "kernel"]
        self.operators = {e["args"]["External id"]: e for e in events if e["cat"] == "cpu_op"}
        self.by_thread = collections.defaultdict(list)
        for e in sorted(self.operators.values(), key=lambda e: (e["ts"], -e["dur"])):
            self.by_thread[e["tid"]].append(e)

    def owner(self, kernel):
        return self.operators.get(kernel["args"]["External id"])

    def uses_units(self, kernel):
        owner = self.owner(kernel)
        return (owner is not None and owner["name"] in PRODUCTS
                and any(kind in SHORT for kind in owner["args"]["Input type"])
                and "gemm" in kernel["name"])

    def table(self):
        """{name: what its row should say}."""
        found = collections.defaultdict(list)
        for kernel in self.kernels:
            found[kernel["name"]].append(kernel)
        return {name: self.row(rows) for name, rows in found.items()}

    def row(self, rows):
        total = sum(one["dur"] for one in rows)

        def mean(key):
            return sum(one["args"][key] * one["dur"] for one in rows) / total
        return {"Tensor Cores Used": "Yes" if self.uses_units(rows[0]) else "No", "Calls": len(rows),
                "Total Duration (us)": total, "Mean Blocks Per SM": mean("blocks per SM"),
                "Mean Est. Achieved Occupancy (%)": mean("est. achieved occupancy %")}

    def around(self, operator):
        """An operator and all that are open around it; one may be in another of its name."""
        rows = self.by_thread[operator["tid"]]
        at = bisect.bisect_right([row["ts"] for row in rows], operator["ts"])
        return [row for row in rows[:at] if row["ts"] + row["dur"] >= operator["ts"] + operator["dur"]]

    def shares(self):
        """{operator: (percent of its own kernels' time with matrix units, the same of all inside)}."""
        own, inside = (collections.defaultdict(lambda: [0, 0]) for _ in range(2))
        for kernel in self.kernels:
            owner = self.owner(kernel)
            if owner is None:
                continue
            times = (kernel["dur"] if self.uses_units(kernel) else 0, kernel["dur"])
            for table, names in ((own, [owner["name"]]),
                                 (inside, [one["name"] for one in self.around(owner)])):
                for name in names:
                    table[name][0] += times[0]
                    table[name][1] += times[1]
        return {name: (100 * own[name][0] / own[name][1] if name in own else 0,
                       100 * part / whole) for name, (part, whole) in inside.items()}


def check(checks, what, worker, trace, units):
    """@param units Some kernels should use matrix units."""
    kernels = Kernels(trace)
    wanted = kernels.table()
    shown = {row["Name"]: row for row in worker["kernels"]}
    checks.equal(set(shown), set(wanted), what + ": kernels")
    for name, row in wanted.items():
        for key, value in row.items():
            got = shown.get(name, {}).get(key)
            near = got == value if isinstance(value, (str, int)) else abs((got or 0) - value) <= (
                0.51 if key.startswith("Total") else 0.006)
            checks.expect(near, "%s, %s: %s is %s, should be %s" % (what, name, key, got, value))
        checks.expect(row["Mean Blocks Per SM"] > 0, "%s, %s: blocks" % (what, name))
    using = [name for name, row in wanted.items() if row["Tensor Cores Used"] == "Yes"]
    checks.equal(bool(using), units, "%s: kernels with matrix units: %s" % (what, using))
    products = [row for name, row in wanted.items() if "gemm" in name]
    checks.expect(products and all(row["Mean Est. Achieved Occupancy (%)"] > 0 for row in products),
                  "%s: occupancy of products %s" % (what, products))
    check_operators(checks, what, worker, kernels)
    busy = sum(row["Total Duration (us)"] for row in wanted.values())
    share = sum(wanted[name]["Total Duration (us)"] for name in using) / busy
    checks.expect(abs(worker["matrix_units"]["Using Tensor Cores"] - share) < 0.002,
                  "%s: share of time %s, should be %s" % (what, worker["matrix_units"], share))


def check_operators(checks, what, worker, kernels):
    shares = kernels.shares()
    for name in ("aten::addmm", "aten::mm", "aten::linear", "aten::relu", "aten::mean"):
        row = worker["operators"].get(name)
        if not checks.expect(row is not None, "%s: no operator %s" % (what, name)):
            continue
        wanted = ("Yes" if name in PRODUCTS + ("aten::linear",) else "No", *shares.get(name, (0, 0)))
        got = (row["tc_eligible"], row["tc_self_ratio"], row["tc_total_ratio"])
        near = got[0] == wanted[0] and all(abs(a - b) < 0.1 for a, b in zip(got[1:], wanted[1:]))
        checks.expect(near, "%s: %s: eligible, own, in all %s, should be %s" % (what, name, got, wanted))
    for row in worker["owner_rows"]:
        if row["Operator"] in PRODUCTS + ("aten::relu",):
            checks.equal(row["Op is Tensor Cores eligible"],
                         "Yes" if row["Operator"] in PRODUCTS else "No", what + ": " + row["Operator"])
