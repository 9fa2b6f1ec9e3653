# SPDX-License-Identifier: Apache-2.0
"""Two traces of one run, held against each other: operators, memory, modules, owners of kernels.

Every function returns messages on what differs; none if nothing does. Three differences are ours by
design (docs/trace-format.md): of a list of tensors the first 512 are written, a device's addresses
carry the device above bit 48, since viewers pair blocks by address alone, and what does not nest is
written as "torch_crossing" (without_crossing)."""

import collections
import re

PARENT = "autograd::engine::evaluate_function:"
FIELDS = ("Input Dims", "Input type", "Concrete Inputs", "Sequence number")
MEMORY = ("Addr", "Bytes", "Total Allocated", "Total Reserved", "Device Type", "Device Id")
MODULE = "nn.Module: "
SHOWN = 4
LISTED = 512
# An expression of dynamic shapes: we tell that a number is not known, not what it is called.
SYMBOL = re.compile(r"(?:(?<=\[)|(?<=, )|^)[^\[\],]*\b[suz]+\d+\b[^\[\],]*")
ADDRESS = (1 << 48) - 1


def within(trace, begin, end):
    """The part of a trace that began between two moments."""
    trace.operators = [o for o in trace.operators if begin <= o.start <= end]
    trace.modules = [m for m in trace.modules if begin <= m.start <= end]
    trace.memory = [(t, args) for t, args in trace.memory if begin <= t <= end]
    trace.crossing = [c for c in trace.crossing if begin <= c[2] <= end]
    return trace


def remove_library_ranges(trace):
    """NVTX ranges, as CUB pushes them inside operators: torch.profiler does not know them."""
    trace.operators = [o for o in trace.operators if "domain" not in o.args]
    return trace


def remove_crossing(reference, recorded):
    """Takes what we say does not nest out of torch.profiler's operators."""
    wrong = []
    for name, tid, start in recorded.crossing:
        same = [o for o in reference.operators if (o.name, o.tid) == (name, tid)]
        found = min(same, key=lambda o: abs(o.start - start), default=None)
        inside = found and [o for o in reference.operators if o.tid == tid and o is not found and (
            found.start < o.start < found.end < o.end or o.start < found.start < o.end < found.end)]
        if inside:
            reference.operators.remove(found)
        else:
            wrong.append("crossing: torch.profiler has no %s that does not nest" % name)
    return wrong[:SHOWN]


def key(operator, lists=True):
    """What both must say. Whether the engine's range around a node repeats the node's number is
    left to each: sequence_numbers() checks it. `lists`: shapes of tensors in lists are compared."""
    values = list(operator.key(FIELDS))
    if isinstance(values[4], tuple):
        types = [SYMBOL.sub("?", value) for value in values[4]]
        values[4] = tuple("" if value == "?" else value for value in types)
    if operator.name.startswith(PARENT):
        values[-1] = None
    if isinstance(values[2], tuple):
        values[2] = tuple((v[:LISTED] if lists else ()) if v and isinstance(v[0], tuple) else v
                          for v in values[2])
    # No inputs may be said by an empty list or by none.
    return tuple(values[:2]) + tuple(v or None if v != 0 else 0 for v in values[2:])


def listing(counter, source):
    rows = sorted(counter.items(), key=lambda row: -row[1])
    return ["%s alone: %d x %s" % (source, count, str(row)[:300]) for row, count in rows[:SHOWN]]


def record(args):
    """What both must say of a block."""
    values = {field: args.get(field) for field in MEMORY}
    if values["Device Type"]:
        values["Addr"] &= ADDRESS
    return tuple(values.values())


def operators(reference, recorded):
    """Multisets of name, thread, shapes, types and sequence number. PyTorch 2.1's profiler writes no
    shapes of lists; we do."""
    a = collections.Counter(key(o, reference.exact) for o in reference.operators)
    b = collections.Counter(key(o, reference.exact) for o in recorded.operators)
    missing, extra = a - b, b - a
    if not missing and not extra:
        return []
    return ["operators: %d missing, %d extra of %d" % (
        sum(missing.values()), sum(extra.values()), sum(a.values()))] + \
        listing(missing, "torch.profiler") + listing(extra, "ours")


def sequence_numbers(trace):
    """The engine's ranges that number themselves have the number of the node inside."""
    wrong, open_parent = [], {}
    for o in trace.operators:
        number = o.args.get("Sequence number")
        if o.name.startswith(PARENT):
            open_parent[o.tid] = o
            continue
        parent = open_parent.get(o.tid)
        if parent and o.start <= parent.end and parent.name == PARENT + " " + o.name:
            reference = parent.args.get("Sequence number")
            if reference is not None and reference != number:
                wrong.append("%s has number %s, its parent %s" % (o.name, number, reference))
    return wrong[:SHOWN]


def memory(reference, recorded):
    """Every record, in order."""
    a = [record(args) for _, args in reference.memory]
    b = [record(args) for _, args in recorded.memory]
    if a == b:
        return []
    missing, extra = collections.Counter(a) - collections.Counter(b), \
        collections.Counter(b) - collections.Counter(a)
    if not missing and not extra:
        return ["memory: the same %d records in another order" % len(a)]
    return ["memory: %d missing, %d extra of %d" % (
        sum(missing.values()), sum(extra.values()), len(a))] + \
        listing(missing, "torch.profiler") + listing(extra, "ours")


def by_thread(rows):
    threads = collections.defaultdict(list)
    for row in rows:
        threads[row.tid].append(row)
    return threads


def chains(trace):
    """Per thread: (operator, names of the modules open around it, outermost first)."""
    found = {}
    modules = by_thread(m for m in trace.modules if m.name.startswith(MODULE))
    for tid, rows in by_thread(trace.operators).items():
        waiting, stack, result = list(reversed(modules[tid])), [], []
        for row in rows:
            while waiting and waiting[-1].start <= row.start:
                module = waiting.pop()
                while stack and stack[-1].end <= module.start:
                    stack.pop()
                stack.append(module)
            while stack and stack[-1].end <= row.start:
                stack.pop()
            result.append((row, tuple(m.name[len(MODULE):] for m in stack)))
        found[tid] = result
    return found


def modules(reference, recorded):
    """The chain of modules of every operator; the operators must already agree."""
    wrong, count = [], 0
    a, b = chains(reference), chains(recorded)
    for tid in a:
        for (expected, left), (actual, right) in zip(a[tid], b.get(tid, [])):
            if expected.name != actual.name:
                return ["modules: operators in another order: %s, %s" % (expected.name, actual.name)]
            if left != right:
                count += 1
                wrong.append("modules of %s: torch.profiler %s, ours %s"
                             % (expected.name, "/".join(left), "/".join(right)))
    return (["modules: %d operators differ" % count] if count else []) + wrong[:SHOWN]


def owners(trace):
    """What launched each kernel, by correlation id."""
    by_id = {o.args.get("External id"): o for o in trace.operators}
    found = {}
    for name, args in trace.kernels:
        operator = by_id.get(args.get("External id"))
        found[args.get("correlation")] = (name, key(operator) if operator else None)
    return found


def kernels(reference, recorded):
    """(messages, share of torch.profiler's kernels whose operator we name as well)."""
    a, b = owners(reference), owners(recorded)
    wrong = [(c, a[c], b.get(c)) for c in a if a[c] != b.get(c)]
    share = 1 - len(wrong) / len(a) if a else 0.0
    sentences = ["kernel %s: torch.profiler %s, ours %s" % (c, str(left and left[1])[:200],
                                                            str(right and right[1])[:200])
                 for c, left, right in wrong[:SHOWN]]
    return sentences, share, len(a)
