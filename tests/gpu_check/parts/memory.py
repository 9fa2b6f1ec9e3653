# SPDX-License-Identifier: Apache-2.0
"""A graph replayed for millions of nodes: what is recorded, and what becomes of the device's memory."""

import re

from context import last_json
from part import Part, checked_row, info_row

NODES, MOST = 1000, 5_000_000
SECONDS = 15
STOPPED = re.compile(r"after (\d+) records of CUDA graph nodes")


def mib(count):
    return count / 2 ** 20


def taken(printed):
    """Device memory that went between the first replay and the least that was left, in MiB."""
    free = printed.get("free_bytes") or [0]
    return mib(free[0] - min(free))


def run(context):
    replays = MOST // NODES if not context.simulated else 60
    command = context.driver("replays", "--nodes", NODES, "--steps", replays, "--seconds", SECONDS)
    plain = last_json(context.run(command, SECONDS + 20).out)
    recording = context.record("memory", command, "--cuda-graph", "node", limit_s=SECONDS + 35)
    printed, nodes = last_json(recording.done.out), recording.summary.get("events_by_kind", {}).get("kernels", 0)
    launched = printed.get("counts", {}).get("gpu_check_empty", 0)
    stopped = STOPPED.search(recording.done.err)
    whole = nodes == launched or nodes > 0 and (stopped or recording.lost() != "none")
    yield checked_row("nodes recorded", bool(launched and whole), "%d of %d; drops: %s%s" % (
        nodes, launched, recording.lost(), "; " + stopped[0] if stopped else ""), "all, or dropped and stopped ones told",
                      recording.done.last_lines(), nodes=nodes, launched=launched)
    yield info_row("device memory that went", "%.0f MiB with us, %.0f MiB without, over %d replays" % (
        taken(printed), taken(plain), printed.get("graph_launches", 0)))
    overhead = recording.summary.get("overhead", {})
    yield info_row("the daemon's memory", "%.0f MiB at most" % mib(overhead.get("daemon_peak_bytes", 0)))


PART = Part("memory", "device memory and records over millions of graph nodes", 80, (), run)
