# SPDX-License-Identifier: Apache-2.0
"""Empty kernels on four streams as fast as a program can launch them: each is kept, or counted as dropped."""

from context import last_json
from part import Part, judged, told

LAUNCHES, SIMULATED = 200_000, 20_000


def rate(done):
    said = last_json(done.out)
    launches = said.get("counts", {}).get("gpu_check_empty", 0)
    return launches, launches / said["ns"] * 1e9 if said.get("ns") else 0


def run(context):
    command = context.driver("storm", "--launches", SIMULATED if context.simulated else LAUNCHES)
    plain = context.run(command, 30)
    recording = context.record("storm", command, "--span-size", "100000000", limit_s=40)
    (launched, ours), (_, alone) = rate(recording.done), rate(plain)
    kept = recording.summary.get("events_by_kind", {}).get("kernels", 0)
    dropped = recording.summary.get("ring_drops_by_kind", {}).get("kernels", 0) + \
        recording.summary.get("drops_by_reason", {}).get("dropped by CUPTI", 0)
    yield judged("kept + dropped = launched", kept + dropped == launched > 0, "%d kept + %d dropped of %d" % (
        kept, dropped, launched), "all", recording.done.words(), kept=kept, dropped=dropped)
    yield judged("drops", recording.lost() == "none" or context.simulated, recording.lost(),
                 "none" if not context.simulated else "not judged")
    yield told("launches a second", "%.0f with us, %.0f without" % (ours, alone) if not context.simulated else "not measured")


PART = Part("storm", "a storm of launches, with its drops counted", 60, (), run)
