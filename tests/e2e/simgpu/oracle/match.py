# SPDX-License-Identifier: Apache-2.0
"""Pairs a log's operations with the reference log's: by kind and correlation id; operations that share an
id (the nodes of a graph launch) by stream and order. Times decide nothing but that order."""

import collections


def _groups(ops):
    found = collections.defaultdict(list)
    for op in ops:
        found[(op.kind, op.corr)].append(op)
    return found


def _signature(op):
    """What tells two operations of one launch apart when some are missing."""
    return (op.name if op.kind != "memset" else None, op.stream, op.grid, op.block, op.bytes)


def _pair_by_order(reference, other):
    key = lambda op: (op.stream if op.stream is not None else -1, op.start, op.position)  # noqa: E731
    return list(zip(sorted(reference, key=key), sorted(other, key=key)))


def _pair_by_signature(reference, other):
    """Pairs of a group of unequal sizes, and what is left on both sides."""
    waiting = collections.defaultdict(collections.deque)
    for op in sorted(other, key=lambda op: op.start):
        waiting[_signature(op)].append(op)
    pairs, missing = [], []
    for op in sorted(reference, key=lambda op: op.start):
        if waiting[_signature(op)]:
            pairs.append((op, waiting[_signature(op)].popleft()))
        else:
            missing.append(op)
    return pairs, missing, [op for rest in waiting.values() for op in rest]


class Match:
    """`pairs` of (reference, log), `missing` from the log, `extra` in it."""

    def __init__(self, reference, recorded):
        self.pairs, self.missing, self.extra = [], [], []
        groups = _groups(recorded.ops)
        for key, wanted in _groups(reference.ops).items():
            got = groups.pop(key, [])
            if len(got) == len(wanted):
                self.pairs += _pair_by_order(wanted, got)
            else:
                pairs, missing, extra = _pair_by_signature(wanted, got)
                self.pairs += pairs
                self.missing += missing
                self.extra += extra
        self.extra += [op for rest in groups.values() for op in rest]
