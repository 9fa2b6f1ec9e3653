# SPDX-License-Identifier: Apache-2.0
"""What cannot be, looked for in every trace that the other parts left: work before its launch, two pieces of work at a
time on one stream, two calls of one correlation id, times outside the window."""

import collections
import os

import traces
from part import Part, judged, not_asked

MOST_BYTES = 8 << 20  # a trace of a storm takes longer to read than it is worth


def looked_at(path, found):
    """Adds what is wrong in one file."""
    trace, seen = traces.load(path), traces.read([path])
    ids = collections.Counter(event["args"]["correlation"] for event in trace["traceEvents"]
                              if event.get("ph") == "X" and event.get("cat") in traces.CALLS and "correlation" in event["args"])
    for what, count in (("before their launch", len(traces.before_launch(seen))), ("overlaps", len(traces.overlaps(seen))),
                        ("calls with an id of another", sum(count - 1 for count in ids.values())),
                        ("that end before they start", sum(one.end < one.start for one in seen.work))):
        found[what] += count
        if count:
            found["files"].append("%s: %d %s" % (os.path.basename(os.path.dirname(os.path.dirname(path))), count, what))
    return len(seen.work)


def run(context):
    files = [path for path in traces.paths(context.path("traces", "")) if os.path.getsize(path) <= MOST_BYTES]
    if not files:
        yield not_asked("order", "no other part left a trace")
        return
    found, work = collections.defaultdict(int, files=[]), 0
    for path in files:
        work += looked_at(path, found)
    wrong = found.pop("files")
    yield judged("all traces", not wrong, "%d traces, %d pieces of GPU work; %s" % (
        len(files), work, ", ".join("%d %s" % (count, what) for what, count in found.items())), "0 of each", "; ".join(wrong[:5]))


PART = Part("order", "what cannot be, in all traces of the other parts", 40, (), run)
