# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses which part of a contraction's output is held in vector registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest

_LATENCY_CYCLES = 5.2  # of one multiply-add that waits for the one before
_PACK_CYCLES = 2.0  # to copy one element into a panel
_MIN_LANES = 4
_MIN_REDUCTION = 4
_PACK_ROWS = 8  # fewer rows do not pay for a panel
_FAR_STRIDE_BYTES = 256  # steps beyond it leave the lines that the prefetcher brings


@dataclass(frozen=True)
class TilePlan:
    """A tile of `rows` by `vectors` vectors of `lanes` elements.

    Attributes:
        row_loop: the loop that the rows are taken from.
        column_loops: the loops that the lanes are taken from, outermost first. More than one are
            taken as one long loop, which they are for the output.
        packed: the inputs, by number, that are copied into a panel for every tile of columns: all
            that move with the columns, where there is more than one column loop.
        cost: estimated cycles for one step of the reduction over the whole output.
    """

    row_loop: int
    column_loops: tuple[int, ...]
    rows: int
    vectors: int
    lanes: int
    packed: frozenset[int]
    cost: float

    @property
    def columns(self) -> int:
        """Elements of one row of the tile."""
        return self.vectors * self.lanes


@dataclass(frozen=True)
class Registers:
    """The vector registers of a processor: how many, and elements in one."""

    count: int
    lanes: int


def plan_tiles(nest: LinearNest, registers: Registers, item_bytes: int) -> TilePlan | None:
    """Return the best tile for `nest`, or None where plain loops do as well.

    Args:
        nest: any nest; only with reductions, and inputs that are reused along an output dimension,
            is there something to gain.
        registers: what tiles may use.
        item_bytes: bytes of one element.
    """
    if prod(loop.extent for loop in nest.loops if loop.is_reduction) < _MIN_REDUCTION:
        return None
    plans = [
        plan
        for column_loops in _column_groups(nest)
        for plan in _plans(nest, column_loops, registers, item_bytes)
    ]
    return min(plans, key=lambda plan: plan.cost, default=None)


def _column_groups(nest: LinearNest) -> Iterator[tuple[int, ...]]:
    """Yield the loop with neighbouring outputs, then with it the loops that continue it."""
    group: tuple[int, ...] = ()
    size = 1
    while True:
        following = [
            index
            for index, loop in enumerate(nest.loops)
            if not loop.is_reduction
            and index not in group
            and nest.outputs[0].strides[index] == size
        ]
        if not following:
            return
        group = (following[0], *group)
        size *= nest.loops[following[0]].extent
        yield group


def _plans(
    nest: LinearNest, column_loops: tuple[int, ...], registers: Registers, item_bytes: int
) -> Iterator[TilePlan]:
    row = _row_loop(nest, column_loops)
    if row is None:
        return
    packed = _packed_inputs(nest, row, column_loops, item_bytes)
    if packed is None:
        return
    rows = nest.loops[row].extent
    columns = prod(nest.loops[loop].extent for loop in column_loops)
    repeats = prod(loop.extent for loop in nest.loops if not loop.is_reduction) // (rows * columns)
    for height, vectors, lanes in _tile_shapes(rows, columns, registers):
        width = vectors * lanes
        work = _cycles(height, vectors) * _tiles(rows, height)
        cost = repeats * _tiles(columns, width) * (work + len(packed) * width * _PACK_CYCLES)
        yield TilePlan(row, column_loops, height, vectors, lanes, packed, cost)


def _row_loop(nest: LinearNest, column_loops: tuple[int, ...]) -> int | None:
    """Return the longest loop along which what moves with the columns is reused."""
    moving = [each for each in nest.inputs if _moves(each, column_loops)]
    candidates = [
        index
        for index, loop in enumerate(nest.loops)
        if index not in column_loops
        and not loop.is_reduction
        and moving
        and not any(each.strides[index] for each in moving)
    ]
    return max(candidates, key=lambda index: nest.loops[index].extent, default=None)


def _packed_inputs(
    nest: LinearNest, row: int, column_loops: tuple[int, ...], item_bytes: int
) -> frozenset[int] | None:
    """Return the inputs to pack, or None where an input must be packed and that does not pay."""
    can_pack = nest.loops[row].extent >= _PACK_ROWS
    packed = set()
    for index, access in enumerate(nest.inputs):
        if not _moves(access, column_loops):
            continue
        must_pack = len(column_loops) > 1 or access.strides[column_loops[-1]] != 1
        if must_pack and not can_pack:
            return None
        if must_pack or (can_pack and _steps_far(nest, access, item_bytes)):
            packed.add(index)
    return frozenset(packed)


def _moves(access: Access, loops: tuple[int, ...]) -> bool:
    return any(access.strides[loop] for loop in loops)


def _steps_far(nest: LinearNest, access: Access, item_bytes: int) -> bool:
    """Tell whether every step of the innermost reduction leaves the cache line's neighbourhood."""
    steps = [
        abs(access.strides[index]) * item_bytes
        for index, loop in enumerate(nest.loops)
        if loop.is_reduction
    ]
    return min(steps) >= _FAR_STRIDE_BYTES


def _tile_shapes(rows: int, columns: int, registers: Registers) -> Iterator[tuple[int, int, int]]:
    """Yield the rows, vectors and lanes of every tile that fits the registers and the output."""
    lanes = registers.lanes
    while lanes >= _MIN_LANES:
        for vectors in (1, 2, 3):
            most = (registers.count - vectors - 1) // vectors
            if vectors * lanes <= columns:
                yield from ((height, vectors, lanes) for height in range(1, min(rows, most) + 1))
        lanes //= 2


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)


def _cycles(rows: int, vectors: int) -> float:
    """Estimate the cycles of one step of the reduction.

    The largest of multiply-adds (two a cycle), loads, and the latency of a chain of accumulators,
    and the loop itself. The weights fit six shapes measured on Zen 3, to 6 %.
    """
    return max(rows * vectors / 2, 0.85 * (rows + vectors), _LATENCY_CYCLES) + 0.5
