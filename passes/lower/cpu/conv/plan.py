# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the tiles of a convolution whose output has its channels innermost.

Rows of a tile are output positions, taken from all spatial loops as one long loop, so that a small
width leaves no ragged tiles; columns are output channels, whose weights lie ready in panels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from xyntra.passes.lower.cpu.conv.absent_taps import has_phases
from xyntra.passes.lower.cpu.conv.position_groups import PositionGroups
from xyntra.passes.lower.cpu.matmul.tile_plan import Registers, TilePlan
from xyntra.passes.lower.kernels.prepared_operands import is_constant
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop

_LATENCY_CYCLES = 4.2  # of one multiply-add that waits for the one before
_LOAD_CYCLES = 0.6
_STEP_CYCLES = 0.4
_MIN_LANES = 4
_MIN_REDUCTION = 8
_MIN_ROWS = 4
_ROW_CYCLES = 8.0  # to write down where one position is
_TILE_CYCLES = 60.0  # around the steps of a tile whose taps and rows are looked up
_NEAR_BYTES = 320 << 10  # of a usual second-level cache
ROW_TILES = 16
"""Tiles of rows in a block."""


@dataclass(frozen=True)
class ConvolutionPlan:
    """A tiling of the loops of a convolution.

    Attributes:
        nest: the convolution, its loops in this order: those around the tiles, one for the rows,
            one for the columns, the reductions in the order in which the input is walked through.
            The strides of the input along the rows mean nothing.
        tile: the tile, as part of `nest`.
        image: number of the input that is not the weights.
        rows: loops that the row loop stands for, outermost first, and the input's stride of each.
        run: how many of the last reductions the input walks through as one loop.
        groups: positions by the taps that they meet; None to read what is there everywhere.
        order: for every loop of `nest` the one of the original nest, of the rows the innermost.
    """

    nest: LinearNest
    tile: TilePlan
    image: int
    rows: tuple[tuple[Loop, int], ...]
    run: int
    order: tuple[int, ...]
    groups: PositionGroups | None = None

    @property
    def row(self) -> int:
        """The number of the loop over positions."""
        return self.tile.row_loop or 0

    @property
    def positions(self) -> int:
        """Rows in all."""
        return self.nest.loops[self.row].extent

    @property
    def has_phases(self) -> bool:
        """Tell whether loops around the tiles are over phases, of which some may lack taps."""
        return has_phases(self.nest, self.image, range(self.row))

    @property
    def row_stride(self) -> int | None:
        """Return how far apart rows are in the input; None where that varies."""
        walks = all(
            stride == inner[0].extent * inner[1] for (_, stride), inner in pairwise(self.rows)
        )
        return self.rows[-1][1] if walks else None


@dataclass(frozen=True)
class Convolution:
    """Loops of a convolution by what they are for.

    Attributes:
        nest: the convolution.
        image: number of the input that is not the weights.
        rows: the loops over positions that are taken as one, outermost first.
        column: the loop over output channels.
        reductions: the reductions in the order in which the input is walked through.
        groups: positions by the taps that they meet; None to read what is there everywhere.
    """

    nest: LinearNest
    image: int
    rows: tuple[int, ...]
    column: int
    reductions: tuple[int, ...]
    groups: PositionGroups | None = None

    @property
    def positions(self) -> int:
        """Iterations of `rows` in all."""
        return prod(self.nest.loops[number].extent for number in self.rows)

    @property
    def columns(self) -> int:
        """Output channels."""
        return self.nest.loops[self.column].extent

    def tiled(self, shape: tuple[int, int, int]) -> ConvolutionPlan:
        """Return the plan with tiles of so many rows, vectors and lanes."""
        nest, rows, x = self.nest, self.rows, self.nest.inputs[self.image]
        done = {*rows, self.column, *self.reductions}
        outer = [number for number in range(len(nest.loops)) if number not in done]
        order = [*outer, rows[-1], self.column, *self.reductions]
        ordered = _reordered(nest, order)
        loops = list(ordered.loops)
        loops[len(outer)] = Loop(self.positions, is_reduction=False)
        tile = TilePlan(len(outer), (len(outer) + 1,), *shape, frozenset(), 0.0)
        steps = tuple((nest.loops[i], x.strides[i]) for i in rows)
        ordered = replace(ordered, loops=tuple(loops))
        return ConvolutionPlan(
            ordered,
            tile,
            self.image,
            steps,
            self.run,
            tuple(order),
            _renumbered(self.groups, order),
        )

    @property
    def run(self) -> int:
        """Return how many of the last reductions are one walk through the input, for every tile."""
        done = {*self.rows, self.column, *self.reductions}
        outer = [number for number in range(len(self.nest.loops)) if number not in done]
        if has_phases(self.nest, self.image, outer):
            return 1
        found = _run(self.nest, self.nest.inputs[self.image], self.reductions)
        if self.groups is None:
            return found
        partial = [number in self.groups.taps for number in self.reductions]
        return min(found, partial[::-1].index(True))

    def cycles(self, shape: tuple[int, int, int]) -> float:
        """Estimate the cycles that tiles of such rows, vectors and lanes take."""
        height, vectors, lanes = shape
        columns = _tiles(self.columns, vectors * lanes)
        channels = prod(self.nest.loops[number].extent for number in self.reductions)
        if self.groups is None:
            steps = _tiles(self.positions, height) * channels
            return columns * steps * step_cycles(height, vectors)
        steps = self.groups.steps(height) * channels // self.groups.whole
        tiles = columns * self.groups.tiles(height) * _TILE_CYCLES
        return columns * steps * step_cycles(height, vectors) + tiles + _ROW_CYCLES * self.positions

    def shape(self, registers: Registers, *, exact: bool) -> tuple[int, int, int] | None:
        """Return the rows, vectors and lanes that take the fewest cycles."""
        shapes = [
            shape
            for shape in tile_shapes(self.positions, self.columns, registers)
            if not exact or self.columns % (shape[1] * shape[2]) == 0
        ]
        return min(shapes, key=self.cycles, default=None)


def find_convolution(nest: LinearNest, companions: Sequence[BufferOperand]) -> Convolution | None:
    """Return `nest` as a convolution of this form, or None where it is none.

    Args:
        nest: a contraction of two inputs.
        companions: what is read or written for each element of the output.
    """
    if len(nest.inputs) != 2 or any(access.is_scalar for access in nest.inputs):
        return None
    if prod(nest.loops[number].extent for number in nest.reductions) < _MIN_REDUCTION:
        return None
    for image in (0, 1):
        if is_constant(nest.inputs[1 - image]):
            found = _convolution(nest, image, companions)
            if found is not None and found.positions >= _MIN_ROWS:
                return found
    return None


def _convolution(
    nest: LinearNest, image: int, companions: Sequence[BufferOperand]
) -> Convolution | None:
    x, weights, out = nest.inputs[image], nest.inputs[1 - image], nest.outputs[0]
    parallel = [number for number, loop in enumerate(nest.loops) if not loop.is_reduction]
    columns = [i for i in parallel if out.strides[i] == 1 and not x.strides[i]]
    if len(columns) != 1 or not weights.strides[columns[0]]:
        return None
    if nest.loops[columns[0]].extent < _MIN_LANES:
        return None  # others may find more lanes along another loop
    if not all(x.strides[i] > 0 and weights.strides[i] for i in nest.reductions):
        return None
    if any(each.strides[columns[0]] not in (0, 1) for each in companions):
        return None
    rows = tuple(_rows(nest, x, weights, companions))
    reductions = tuple(sorted(nest.reductions, key=lambda i: -x.strides[i]))
    return Convolution(nest, image, rows, columns[0], reductions) if rows else None


def rows_outside(plan: ConvolutionPlan, image_bytes: int, item_bytes: int) -> bool:
    """Tell whether less comes from outside of the second-level cache with rows outermost.

    Args:
        plan: the tiles.
        image_bytes: bytes that the image spans.
        item_bytes: bytes of one element.
    """
    nest, tile = plan.nest, plan.tile
    columns = plan.tile.extent(nest)
    blocks = _tiles(_tiles(nest.loops[tile.row_loop or 0].extent, tile.rows), ROW_TILES)
    weights = prod(nest.loops[number].extent for number in nest.reductions) * columns * item_bytes
    by_rows = image_bytes + weights * (blocks if weights > _NEAR_BYTES else 1)
    passes = _tiles(columns, tile.columns) if image_bytes > _NEAR_BYTES else 1
    return by_rows < weights + image_bytes * passes


def _rows(
    nest: LinearNest, x: BufferOperand, weights: BufferOperand, companions: Sequence[BufferOperand]
) -> list[int]:
    """The loops over positions that all companions walk through as one, outermost first."""
    positions = [
        number
        for number, loop in enumerate(nest.loops)
        if not loop.is_reduction and x.strides[number] and not weights.strides[number]
    ]
    units = {number for number in positions if nest.loops[number].extent == 1}
    positions.sort(key=lambda number: (number in units, nest.outputs[0].strides[number]))
    rows: list[int] = []
    for number in positions:
        if (
            rows
            and number not in units
            and not all(
                each.strides[number] == nest.loops[rows[0]].extent * each.strides[rows[0]]
                for each in companions
            )
        ):
            break
        rows.insert(0, number)
    return rows


def _run(nest: LinearNest, x: BufferOperand, reductions: Sequence[int]) -> int:
    """Return how many of the last reductions are one walk through `x`."""
    run = 1
    for inner, outer in pairwise(reversed(reductions)):
        if x.strides[outer] != nest.loops[inner].extent * x.strides[inner]:
            break
        run += 1
    return run


def reordered(access: BufferOperand, order: Sequence[int]) -> BufferOperand:
    """Return `access` for loops of which number i was `order[i]`."""
    return replace(access, strides=tuple(access.strides[number] for number in order))


def _renumbered(groups: PositionGroups | None, order: Sequence[int]) -> PositionGroups | None:
    """Return `groups` for loops of which number i was `order[i]`."""
    if groups is None:
        return None
    taps = (None if tap is None else order.index(tap) for tap in groups.taps)
    return replace(groups, taps=tuple(taps))


def _reordered(nest: LinearNest, order: Sequence[int]) -> LinearNest:
    return LinearNest(
        tuple(nest.loops[number] for number in order),
        tuple(reordered(each, order) for each in nest.inputs),
        tuple(reordered(each, order) for each in nest.outputs),
        nest.body,
    )


def tile_shape(
    rows: int, columns: int, registers: Registers, *, exact: bool
) -> tuple[int, int, int] | None:
    """The rows, vectors and lanes that compute the whole output in the fewest cycles."""

    def cost(shape: tuple[int, int, int]) -> float:
        height, vectors, lanes = shape
        tiles = _tiles(rows, height) * _tiles(columns, vectors * lanes)
        return tiles * step_cycles(height, vectors)

    shapes = [
        shape
        for shape in tile_shapes(rows, columns, registers)
        if not exact or columns % (shape[1] * shape[2]) == 0
    ]
    return min(shapes, key=cost, default=None)


def tile_shapes(rows: int, columns: int, registers: Registers) -> Iterator[tuple[int, int, int]]:
    """Yield the rows, vectors and lanes of the tiles that fit the registers."""
    lanes = registers.lanes
    while lanes >= min(_MIN_LANES, columns) > 1:
        for vectors in (1, 2, 3):
            most = (registers.count - vectors - 1) // vectors
            if vectors * lanes <= columns:
                yield from ((height, vectors, lanes) for height in range(1, min(rows, most) + 1))
        lanes //= 2


def step_cycles(height: int, vectors: int) -> float:
    """Estimate the cycles of one step of the reduction for a tile."""
    work = max(height * vectors / 2, _LOAD_CYCLES * (height + vectors), _LATENCY_CYCLES)
    return work + _STEP_CYCLES


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)
