# SPDX-License-Identifier: Apache-2.0
"""What cannot be, looked for in the traces that the other parts left: work before its launch, two pieces of work at a
time on one stream, two calls of one correlation id, an end before its start."""

import collections
import os
import time

import traces
from part import Part, checked_row, not_asked

MOST_BYTES = 4 << 20  # a trace of a storm takes longer to read than it is worth
OF_A_PART = 3  # of many windows
SECONDS = 25
WHAT = ("before their launch", "overlaps", "calls with an id of another", "that end before they start")


def inspect(path):
    """How often each of WHAT, and how much GPU work there is."""
    seen = traces.read([path])
    counts = (len(traces.before_launch(seen)), len(traces.overlaps(seen)), seen.repeated,
              sum(one.end < one.start for one in seen.work))
    return counts, len(seen.work)


def chosen(context):
    """The first traces of each part."""
    root, found = context.path("traces", ""), collections.defaultdict(list)
    for path in traces.paths(root):
        if os.path.getsize(path) <= MOST_BYTES:
            found[os.path.relpath(path, root).split(os.sep)[0]].append(path)
    return [(part, path) for part, paths in found.items() for path in paths[:OF_A_PART]]


def run(context):
    files, total, wrong, work, read = chosen(context), collections.Counter(), [], 0, 0
    end = time.monotonic() + SECONDS * context.patience
    for part, path in files:
        if time.monotonic() > end:
            break
        counts, there = inspect(path)
        total.update(dict(zip(WHAT, counts)))
        wrong += ["%s: %d %s" % (part, count, what) for what, count in zip(WHAT, counts) if count]
        work, read = work + there, read + 1
    if not files:
        yield not_asked("all traces", "no other part left a trace")
        return
    yield checked_row("all traces", not wrong, "%d of %d traces, %d pieces of GPU work; %s" % (
        read, len(files), work, ", ".join("%d %s" % (total[what], what) for what in WHAT)), "0 of each", "; ".join(wrong[:5]))


PART = Part("order", "what cannot be, in the traces of the other parts", 45, (), run)
