# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses which tiles are worked on together, so that what they share stays in a cache.

The blocks are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
(2008): a part of one panel in the first-level cache, a part of the rows in the second-level cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.loops.linear_nest import LinearNest

_PANEL_BYTES = 72 << 10  # streams from the second-level cache as fast as it is used
_ROWS_BYTES = 192 << 10
_SUMS_BYTES = 128 << 10
_MAX_WIDTH = 4  # tiles beside each other; more would leave little to share among threads
_PACKED_BYTES = 1 << 20
_MIN_REUSE = 3  # tiles of rows that share a panel, from which on it should stay in a cache
# Of an operand whose panels are all there from the start.
_NEAR_PANEL_BYTES = 30 << 10  # nearly a first-level cache
_NEAR_ROWS_BYTES = 384 << 10  # most of a second-level cache
_MANY_BLOCKS = 8
_LEAST_ROWS = 32  # tiles below each other, for which a panel is brought from memory once


@dataclass(frozen=True)
class Blocking:
    """A blocking of tiles for the caches.

    Attributes:
        rows: tiles below each other.
        columns: tiles beside each other, at most.
        column_blocks: how many blocks there are beside each other, about equal ones.
        steps: of the outermost reduction; None for all of them.
        rows_outside: whether the loop over blocks below each other is the outer one.
    """

    rows: int
    columns: int
    column_blocks: int
    steps: int | None = None
    rows_outside: bool = False


def choose_blocking(nest: LinearNest, plan: TilePlan, item_bytes: int) -> Blocking:
    """Return the blocks for `plan`.

    Args:
        nest: the contraction.
        plan: its tiles.
        item_bytes: bytes of one element.
    """
    if plan.prepared and not plan.packed and len(nest.reductions) == 1:
        return _around_prepared(nest, plan, item_bytes)
    extents = [nest.loops[number].extent for number in nest.reductions]
    length = prod(extents)
    row_tiles, column_tiles = tiles_of(nest, plan)
    steps = None
    in_cache = _PANEL_BYTES // (plan.columns * item_bytes)
    if row_tiles >= _MIN_REUSE and len(plan.column_loops) == 1 and length > in_cache * 5 // 4:
        steps = _even(extents[0], max(1, in_cache * extents[0] // length))
    depth = length if steps is None else steps * length // extents[0]
    rows_in_cache = max(_MIN_REUSE, _ROWS_BYTES // (depth * plan.rows * item_bytes))
    height = _even(row_tiles, rows_in_cache)
    accumulators = height * plan.rows * plan.columns * item_bytes
    width = min(_MAX_WIDTH, max(1, _SUMS_BYTES // accumulators))
    if plan.packed:
        packed = length * plan.columns * item_bytes * len(plan.packed)
        width = 1 if len(plan.column_loops) > 1 else max(1, min(width, _PACKED_BYTES // packed))
    if steps == extents[0]:
        steps = None
    blocks = shared_blocks(_tiles(column_tiles, width), column_tiles)
    return Blocking(height, _tiles(column_tiles, blocks), blocks, steps)


def blocking_of(
    nest: LinearNest,
    plan: TilePlan,
    rows: int,
    column_blocks: int,
    steps: int | None,
    *,
    rows_outside: bool,
) -> Blocking:
    """Return blocks of `rows` tiles below each other; the rest is as in `Blocking`."""
    columns = _tiles(tiles_of(nest, plan)[1], column_blocks)
    return Blocking(rows, columns, column_blocks, steps, rows_outside)


def tiles_of(nest: LinearNest, plan: TilePlan) -> tuple[int, int]:
    """Return how many tiles there are below and beside each other."""
    return _row_tiles(nest, plan), _tiles(plan.extent(nest), plan.columns)


def _around_prepared(nest: LinearNest, plan: TilePlan, item_bytes: int) -> Blocking:
    """Return blocks of one panel, which is read part by part.

    One part stays in the first-level cache, and the rows of a block in the second-level cache;
    meanwhile the next part comes from further away.
    """
    length = nest.loops[nest.reductions[0]].extent
    row_tiles, column_tiles = tiles_of(nest, plan)
    in_cache = _NEAR_PANEL_BYTES // (plan.columns * item_bytes)
    steps = None
    if row_tiles >= _MIN_REUSE and length > in_cache * 5 // 4:
        steps = _even(length, in_cache)
    tile_bytes = length * plan.rows * item_bytes
    height = _even(row_tiles, max(_LEAST_ROWS, _NEAR_ROWS_BYTES // tile_bytes))
    rows_bytes = row_tiles * tile_bytes
    panels_bytes = column_tiles * length * plan.columns * item_bytes
    # What does not stay in the second-level cache is read once for every block of the other.
    rows_outside = rows_bytes + panels_bytes * _tiles(row_tiles, height)
    columns_outside = panels_bytes + rows_bytes * column_tiles
    return Blocking(height, 1, column_tiles, steps, rows_outside <= columns_outside)


def _row_tiles(nest: LinearNest, plan: TilePlan) -> int:
    rows = 1 if plan.row_loop is None else nest.loops[plan.row_loop].extent
    return _tiles(rows, plan.rows)


def shared_blocks(blocks: int, tiles: int) -> int:
    """Return how many blocks to make of `tiles`: at least `blocks`, and even shares for threads.

    Where there are many, a few more cost little, and four threads share them as evenly as two.
    """
    threads = 4 if blocks > _MANY_BLOCKS else 2
    return blocks if blocks == 1 else min(tiles, _tiles(blocks, threads) * threads)


def _even(extent: int, most: int) -> int:
    """Return the size of blocks of at most `most` that are about equal."""
    return _tiles(extent, _tiles(extent, most))


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)
