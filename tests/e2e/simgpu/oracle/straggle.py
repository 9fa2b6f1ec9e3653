# SPDX-License-Identifier: Apache-2.0
"""How much longer the collectives of the waiting ranks last than those of the late one."""

import statistics


def collectives(witness):
    """Durations in ns of the NCCL kernels of one rank, in order."""
    ops = [op for op in witness.ops if op.kind == "kernel" and op.name.startswith("nccl")]
    return [op.dur for op in sorted(ops, key=lambda op: op.start)]


def surplus_ms(ranks, late_rank):
    """Median over the steps of (rank - late rank), for each other rank.

    @param ranks  a list of durations for each rank, one for each step"""
    late = ranks[late_rank]
    return [statistics.median(mine - its for mine, its in zip(durations, late)) / 1e6
            for rank, durations in enumerate(ranks) if rank != late_rank]
