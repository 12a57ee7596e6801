# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises decode attention (few queries, many keys) and splits its keys over blocks, warps."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.passes.lower.cuda.attention.folded_heads import with_folded_heads
from xyntra.passes.lower.cuda.attention.plan import ROWS, FlashPlan, sized
from xyntra.passes.lower.gpu.attention.carrier import LARGEST_SIZE
from xyntra.passes.lower.gpu.attention.problem import Problem
from xyntra.passes.lower.gpu.device import Feature, GpuDevice

_FEW_QUERIES = 16  # of a head: more pay where there are few heads
_MOST_QUERIES = 128
_FEWEST_KEYS = 256
_STAGES = 2
_TILES = {128: (32, (8, 4)), 256: (32, (4,)), 512: (16, (4,)), 1024: (8, (4,))}
"""Keys of a tile and warps of a block, those that are better first, by the bytes of keys and values
at most."""
_CLUSTERS = (1, 2, 4, 8)
_ENOUGH = 64
"""Blocks that read memory as fast as it goes. More would share its rows, and clusters that fill
all multiprocessors do not all find a place at once."""


@dataclass(frozen=True)
class DecodePlan:
    """A plan of attention for up to sixteen rows, whose keys warps and blocks share.

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


def plan_decode(problem: Problem, device: GpuDevice) -> DecodePlan | None:
    """Choose a plan; None where this kernel does not fit, or is not worth it."""
    b, h, s, t, _, _ = problem.sizes
    if t < _FEWEST_KEYS or s >= _MOST_QUERIES:
        return None
    if s > _FEW_QUERIES and b * h * -(-s // 32) >= device.multiprocessors:
        return None
    useful = decode_plans(problem, device)
    if not useful:
        return None
    return next((plan for plan in useful if plan.blocks >= _ENOUGH), useful[-1])


def decode_plans(problem: Problem, device: GpuDevice) -> list[DecodePlan]:
    """Return every plan by which this kernel computes an attention."""
    d, e = problem.sizes[4:]
    if not device.has(Feature.CLUSTERS) or max(d, e) > LARGEST_SIZE:
        return []
    widest = problem.query.item_bytes * max(d, e)
    keys, choices = next(found for nbytes, found in _TILES.items() if widest <= nbytes)
    folded = with_folded_heads(problem)
    plans = [
        DecodePlan(folded, sized(problem, 1, warps, keys, _STAGES), cluster)
        for warps in choices
        for cluster in _CLUSTERS
    ]
    fitting = [plan for plan in plans if plan.shared <= device.block_shared_bytes]
    return [plan for plan in fitting if plan.cluster == 1 or plan.steps >= plan.warps]
