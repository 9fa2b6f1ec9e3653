# SPDX-License-Identifier: Apache-2.0
"""How much longer the collectives of the waiting ranks last than those of the late one."""

import statistics


def collectives(witness):
    """The NCCL kernels of one rank, in order."""
    ops = [op for op in witness.ops if op.kind == "kernel" and op.name.startswith("nccl")]
    return sorted(ops, key=lambda op: op.start)


def surplus_ms(ranks, late_rank):
    """Median over the steps of (rank - late rank), for each other rank.

    @param ranks  a list of durations in ns for each rank, one for each step"""
    late = ranks[late_rank]
    return [statistics.median(mine - its for mine, its in zip(durations, late)) / 1e6
            for rank, durations in enumerate(ranks) if rank != late_rank]


def lateness_ms(truths, late_rank, steps):
    """By how much the late rank launched the last `steps` collectives after each other rank: what a
    loaded machine adds to its sleep is in it. All ranks share the clock.

    @param truths  the truth of each rank"""
    launched = [[truth.calls[op.corr].start for op in collectives(truth)][-steps:]
                for truth in truths]
    late = launched[late_rank]
    return [statistics.median(its - mine for mine, its in zip(calls, late)) / 1e6
            for rank, calls in enumerate(launched) if rank != late_rank]
