# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which attention is that of few queries with many keys, and how its keys are shared out."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.passes.lower.cuda.attention.folded_heads import with_folded_heads
from xyntra.passes.lower.cuda.attention.plan import LARGEST_SIZE, ROWS, FlashPlan
from xyntra.passes.lower.cuda.attention.problem import Problem
from xyntra.passes.lower.cuda.cluster_reduce import has_clusters

_MOST_QUERIES = 16  # of a head
_FEWEST_KEYS = 256
_WARPS = 4
_STAGES = 2
_KEYS = {128: 32, LARGEST_SIZE: 16}  # of a tile, by what keys and values have at most
_CLUSTERS = (1, 2, 4, 8)
_ENOUGH = 64
"""Blocks that read memory as fast as it goes. More would share its rows, and clusters that fill
all multiprocessors do not all find a place at once."""


@dataclass(frozen=True)
class DecodePlan:
    """How the keys of up to sixteen rows are shared out.

    Attributes:
        problem: the attention, with heads that share keys as rows of one.
        tiles: of a block; each of its warps has its own tiles of keys.
        cluster: blocks that share the keys of the same rows.
    """

    problem: Problem
    tiles: FlashPlan
    cluster: int

    @property
    def rows(self) -> int:
        """Tiles of rows of a head."""
        return -(-self.problem.sizes[2] // ROWS)

    @property
    def steps(self) -> int:
        """Tiles of keys of all warps of a cluster."""
        return -(-self.problem.sizes[3] // self.tiles.warp_keys)

    @property
    def warps(self) -> int:
        """Warps of a cluster."""
        return self.cluster * self.tiles.key_warps

    @property
    def blocks(self) -> int:
        """Blocks of the launch."""
        b, h, _, _, _, _ = self.problem.sizes
        return b * h * self.rows * self.cluster

    @property
    def parts_start(self) -> int:
        """Byte at which the block's maxima and totals lie, behind those of its warps."""
        return self.tiles.total_start + 8 * self.tiles.key_warps * ROWS

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return max(self.tiles.shared, self.parts_start + 8 * ROWS)


def plan_decode(problem: Problem, architecture: str) -> DecodePlan | None:
    """Choose a plan; None where this kernel does not fit, or is not worth it."""
    _, _, s, t, d, e = problem.sizes
    if problem.dtype == "float32" or not has_clusters(architecture):
        return None
    if s > _MOST_QUERIES or t < _FEWEST_KEYS or max(d, e) > LARGEST_SIZE:
        return None
    folded = with_folded_heads(problem)
    tiles = _tiles(d, e)
    plans = [DecodePlan(folded, tiles, cluster) for cluster in _CLUSTERS]
    useful = [plan for plan in plans if plan.cluster == 1 or plan.steps >= plan.warps]
    return next((plan for plan in useful if plan.blocks >= _ENOUGH), useful[-1])


def _tiles(d: int, e: int) -> FlashPlan:
    keys = next(count for size, count in _KEYS.items() if max(d, e) <= size)
    key_size, value_size = (-(-size // 16) * 16 for size in (d, e))
    return FlashPlan(1, _WARPS, keys, _STAGES, 2 * key_size, 2 * value_size, value_size, 0)
