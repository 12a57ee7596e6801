# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses which part of a contraction's output is held in vector registers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest

_FMA_LATENCY = 4.0  # cycles; with two units, eight independent accumulators hide it
_MIN_LANES = 4
_MIN_REDUCTION = 4
# Copying an element into a panel costs about as much as this many rows of multiply-adds save.
_PACK_ROWS = 8
_FAR_STRIDE_BYTES = 256  # steps beyond it leave the lines that the prefetcher brings


@dataclass(frozen=True)
class TilePlan:
    """A tile of `rows` by `vectors` vectors of `lanes` elements.

    Attributes:
        row_loop: the loop that the rows are taken from.
        column_loop: the loop that the lanes are taken from.
        packed: the inputs, by number, that are copied into a panel for every tile of columns.
    """

    row_loop: int
    column_loop: int
    rows: int
    vectors: int
    lanes: int
    packed: frozenset[int]

    @property
    def columns(self) -> int:
        """Elements of one row of the tile."""
        return self.vectors * self.lanes


def plan_tiles(nest: LinearNest, lanes: int, registers: int, item_bytes: int) -> TilePlan | None:
    """Return a tile for `nest`, or None where plain loops do as well.

    Args:
        nest: a contraction: reductions, and inputs that are reused along an output dimension.
        lanes: elements of one vector register.
        registers: vector registers of the processor.
        item_bytes: bytes of one element.
    """
    column = _column_loop(nest)
    if column is None or _reduction_size(nest) < _MIN_REDUCTION:
        return None
    row = _row_loop(nest, column)
    if row is None:
        return None
    packed = _packed_inputs(nest, row, column, item_bytes)
    if packed is None:
        return None
    shape = _tile_shape(nest.loops[row].extent, nest.loops[column].extent, lanes, registers)
    return TilePlan(row, column, *shape, packed) if shape else None


def _column_loop(nest: LinearNest) -> int | None:
    for index, loop in enumerate(nest.loops):
        if not loop.is_reduction and nest.output.strides[index] == 1:
            return index if loop.extent >= _MIN_LANES else None
    return None


def _reduction_size(nest: LinearNest) -> int:
    return prod(loop.extent for loop in nest.loops if loop.is_reduction)


def _row_loop(nest: LinearNest, column: int) -> int | None:
    """Return the longest loop along which what moves with the columns is reused."""
    moving = [each for each in nest.inputs if each.strides[column]]
    candidates = [
        index
        for index, loop in enumerate(nest.loops)
        if index != column
        and not loop.is_reduction
        and loop.extent > 1
        and moving
        and not any(each.strides[index] for each in moving)
    ]
    return max(candidates, key=lambda index: nest.loops[index].extent, default=None)


def _packed_inputs(
    nest: LinearNest, row: int, column: int, item_bytes: int
) -> frozenset[int] | None:
    """Return the inputs to pack, or None where an input must be packed and that does not pay."""
    rows = nest.loops[row].extent
    packed = set()
    for index, access in enumerate(nest.inputs):
        if access.strides[column] not in (0, 1):
            if rows < _PACK_ROWS:
                return None
            packed.add(index)
        elif access.strides[column] and rows >= _PACK_ROWS and _steps_far(nest, access, item_bytes):
            packed.add(index)
    return frozenset(packed)


def _steps_far(nest: LinearNest, access: Access, item_bytes: int) -> bool:
    """Tell whether every step of the innermost reduction leaves the cache line's neighbourhood."""
    steps = [
        abs(access.strides[index]) * item_bytes
        for index, loop in enumerate(nest.loops)
        if loop.is_reduction
    ]
    return min(steps) >= _FAR_STRIDE_BYTES


def _tile_shape(rows: int, columns: int, lanes: int, registers: int) -> tuple[int, int, int] | None:
    best: tuple[float, tuple[int, int, int]] | None = None
    width = lanes
    while width >= _MIN_LANES:
        for vectors in (1, 2, 3):
            if vectors * width > columns:
                continue
            most = (registers - vectors - 1) // vectors
            for height in range(1, min(rows, most) + 1):
                shape = (height, vectors, width)
                cost = _cycles(*shape) * _tiles(rows, height) * _tiles(columns, vectors * width)
                if best is None or cost < best[0]:
                    best = (cost, shape)
        width //= 2
    return best[1] if best else None


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)


def _cycles(rows: int, vectors: int, lanes: int) -> float:
    """Estimate the cycles of one step of the reduction: multiply-adds, loads or their latency.

    Weights were measured on Zen 3: two multiply-adds and three loads in two cycles.
    """
    work = max(rows * vectors / 2, (rows + vectors) * 2 / 3, _FMA_LATENCY)
    return work * (1 if lanes >= 2 * _MIN_LANES else 1.01)
