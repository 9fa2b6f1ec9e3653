# SPDX-License-Identifier: Apache-2.0
"""Empty kernels as fast as a program can launch them, on four streams or from many threads: each is kept, or counted as
dropped."""

from context import last_json
from part import Part, checked_row, info_row

LAUNCHES, SIMULATED = 200_000, 20_000
THREADS = 64


def rate(done):
    printed = last_json(done.out)
    launches = printed.get("counts", {}).get("gpu_check_empty", 0)
    return launches, launches / printed["ns"] * 1e9 if printed.get("ns") else 0


def kept_or_dropped(name, recording):
    launched, kept = rate(recording.done)[0], recording.summary.get("events_by_kind", {}).get("kernels", 0)
    dropped = recording.summary.get("ring_drops_by_kind", {}).get("kernels", 0) + \
        recording.summary.get("drops_by_reason", {}).get("dropped by CUPTI", 0)
    # What finds no buffer is counted by buffers.
    good = kept + dropped == launched or kept > 0 and "no CUPTI buffer left" in recording.lost()
    return checked_row(name, bool(launched and good), "%d kept + %d dropped of %d" % (kept, dropped, launched),
                       "kept + dropped = launched, or lost buffers told", recording.done.last_lines(), kept=kept, dropped=dropped)


def drops(name, recording, simulated):
    return checked_row(name, recording.lost() == "none" or simulated, recording.lost(), "none" if not simulated else "not judged")


def run(context):
    launches = SIMULATED if context.simulated else LAUNCHES
    command = context.driver("storm", "--launches", launches)
    plain = context.run(command, 30)
    recording = context.record("storm", command, "--span-size", "100000000", limit_s=40)
    yield kept_or_dropped("four streams", recording)
    yield drops("four streams, drops", recording, context.simulated)
    yield info_row("launches a second", "%.0f with us, %.0f without" % (rate(recording.done)[1], rate(plain)[1])
                   if not context.simulated else "not measured")
    command = context.driver("threads", "--threads", THREADS, "--launches", launches // 4)
    recording = context.record("storm-threads", command, "--span-size", "100000000", limit_s=30)
    yield kept_or_dropped("%d threads" % THREADS, recording)
    yield drops("%d threads, drops" % THREADS, recording, context.simulated)


PART = Part("storm", "storms of launches, with their drops counted", 70, (), run)
