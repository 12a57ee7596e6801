# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which attention is that of few queries with many keys, and how its keys are shared out."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.passes.lower.cuda.attention.folded_heads import with_folded_heads
from xyntra.passes.lower.cuda.attention.plan import LARGEST_SIZE, ROWS, FlashPlan
from xyntra.passes.lower.cuda.attention.problem import Problem
from xyntra.passes.lower.cuda.cluster_reduce import has_clusters

ENABLED = False
"""Whether attention of few queries is planned so; it has not been run on a GPU yet."""
_MOST_QUERIES = 16  # of a head
_FEWEST_KEYS = 256
_WARPS = 4
_STAGES = 3
_WIDE_TILE, _TILE = 32, 16  # keys
_NARROW = 64  # elements of a key and of a value of which the wide tiles are
_CLUSTERS = (1, 2, 4, 8, 16)
_MULTIPROCESSORS = 132
_SHARED = 227 << 10  # of a multiprocessor
_RESERVED = 1 << 10  # of every block
# Microseconds: bytes that arrive in one, what a step takes at least, beginning and ending, the
# same of a cluster and for every block of it.
_BYTES, _STEP, _START, _CLUSTER, _MEMBER = 2.9e6, 0.3, 1.5, 0.8, 0.1


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
        """Tiles of keys of one warp."""
        return -(-self.problem.sizes[3] // self.tiles.warp_keys)

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
    if (
        not ENABLED
        or problem.dtype == "float32"
        or max(d, e) > LARGEST_SIZE
        or not has_clusters(architecture)
    ):
        return None
    if s > _MOST_QUERIES or t < _FEWEST_KEYS:
        return None
    folded = with_folded_heads(problem)
    tiles = _tiles(d, e)
    plans = [DecodePlan(folded, tiles, cluster) for cluster in _CLUSTERS]
    return min(plans, key=_time)


def _tiles(d: int, e: int) -> FlashPlan:
    keys = _WIDE_TILE if max(d, e) <= _NARROW else _TILE
    key_size, value_size = (-(-size // 16) * 16 for size in (d, e))
    return FlashPlan(1, _WARPS, keys, _STAGES, 2 * key_size, 2 * value_size, value_size, 0)


def _time(plan: DecodePlan) -> float:
    """About how many microseconds a launch takes."""
    b, h, _, _, _, _ = plan.problem.sizes
    places = _MULTIPROCESSORS * max(1, _SHARED // (plan.shared + _RESERVED))
    whole, rest = divmod(b * h * plan.rows * plan.cluster, places)
    return whole * _wave(plan, places) + (_wave(plan, rest) if rest else 0.0)


def _wave(plan: DecodePlan, blocks: int) -> float:
    tiles = plan.tiles
    turns = -(-plan.steps // (plan.cluster * tiles.key_warps))
    nbytes = blocks * tiles.keys * (tiles.key_bytes + tiles.value_bytes)
    ending = _CLUSTER + _MEMBER * plan.cluster if plan.cluster > 1 else 0.0
    return turns * max(_STEP, nbytes / _BYTES) + _START + ending
