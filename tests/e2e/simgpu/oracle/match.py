# SPDX-License-Identifier: Apache-2.0
"""Pairs a witness's operations with the truth's: by kind and correlation id; operations that share an
id (the nodes of a graph launch) by stream and order. Times decide nothing but that order."""

import collections


def _groups(ops):
    found = collections.defaultdict(list)
    for op in ops:
        found[(op.kind, op.corr)].append(op)
    return found


def _looks(op):
    """What tells two operations of one launch apart when some are missing."""
    return (op.name if op.kind != "memset" else None, op.stream, op.grid, op.block, op.bytes)


def _by_order(truth, other):
    key = lambda op: (op.stream if op.stream is not None else -1, op.start, op.place)  # noqa: E731
    return list(zip(sorted(truth, key=key), sorted(other, key=key)))


def _by_looks(truth, other):
    """Pairs of a group of unequal sizes, and what is left on both sides."""
    waiting = collections.defaultdict(collections.deque)
    for op in sorted(other, key=lambda op: op.start):
        waiting[_looks(op)].append(op)
    pairs, missing = [], []
    for op in sorted(truth, key=lambda op: op.start):
        if waiting[_looks(op)]:
            pairs.append((op, waiting[_looks(op)].popleft()))
        else:
            missing.append(op)
    return pairs, missing, [op for rest in waiting.values() for op in rest]


class Match:
    """`pairs` of (truth, witness), `missing` from the witness, `extra` in it."""

    def __init__(self, truth, witness):
        self.pairs, self.missing, self.extra = [], [], []
        theirs = _groups(witness.ops)
        for key, wanted in _groups(truth.ops).items():
            got = theirs.pop(key, [])
            if len(got) == len(wanted):
                self.pairs += _by_order(wanted, got)
            else:
                pairs, missing, extra = _by_looks(wanted, got)
                self.pairs += pairs
                self.missing += missing
                self.extra += extra
        self.extra += [op for rest in theirs.values() for op in rest]
