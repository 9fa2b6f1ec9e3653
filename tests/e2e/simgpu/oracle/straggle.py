# SPDX-License-Identifier: Apache-2.0
"""How much longer the collectives of the waiting ranks last than those of the late one."""

import statistics


def collectives(log):
    """The NCCL kernels of one rank, in order."""
    ops = [op for op in log.ops if op.kind == "kernel" and op.name.startswith("nccl")]
    return sorted(ops, key=lambda op: op.start)


def surplus_ms(ranks, late_rank):
    """Median over the steps of (rank - late rank), for each other rank.

    @param ranks  a list of durations in ns for each rank, one for each step"""
    late = ranks[late_rank]
    return [statistics.median(own - its for own, its in zip(durations, late)) / 1e6
            for rank, durations in enumerate(ranks) if rank != late_rank]


def lateness_ms(references, late_rank, steps):
    """By how much the late rank launched the last `steps` collectives after each other rank: what a
    loaded machine adds to its sleep is in it. All ranks share the clock.

    @param references  the reference log of each rank"""
    launched = [[reference.calls[op.corr].start for op in collectives(reference)][-steps:]
                for reference in references]
    late = launched[late_rank]
    return [statistics.median(its - own for own, its in zip(calls, late)) / 1e6
            for rank, calls in enumerate(launched) if rank != late_rank]
