# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits where the rows of a convolution's tiles are in the image and in the output.

Rows are output positions in their order, or, where padding is left out, group by group of those
that meet the same taps. Groups are filled up to whole tiles by repeating their last position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.conv.plan import ConvolutionPlan
from xyntra.passes.lower.cpu.conv.position_groups import PositionGroups, Run
from xyntra.passes.lower.cpu.matmul.tile_epilogue import Row, TileEpilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    loop,
    nested_loops,
    plus,
    store,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate

__all__ = ["TileRows", "tile_rows"]

_RUN_FIELDS = 4  # first place, end; first tap, end
Put = Callable[[ir.Value, Row, int], None]


class TileRows(Protocol):
    """The rows of all tiles."""

    @property
    def tiles(self) -> int:
        """Return how many tiles there are."""

    def start(self, tile: ir.Value) -> ir.Value:
        """Return the first row of a tile, for the other questions."""

    def sources(self, start: ir.Value) -> list[ir.Value]:
        """Return how far each row of a tile is from the first one of all in the image."""

    def taps(self, tile: ir.Value, loop: int) -> tuple[ir.Value, ir.Value]:
        """Return the first tap of a loop that a tile meets, and the one behind the last."""

    def meets_all(self, loop: int) -> bool:
        """Tell whether all tiles meet all taps of a loop."""

    def written(self, tile: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return the first row of a tile that no other one writes, and the one behind the last."""

    def put(
        self, epilogue: TileEpilogue, position: Position, start: ir.Value, column: ir.Value
    ) -> Put:
        """Return a function that takes a vector of values, its row and its number in the row."""


def tile_rows(plan: ConvolutionPlan) -> TileRows:
    """Return the rows of `plan`, after the code that fills their tables."""
    return _Ordered.of(plan) if plan.groups is None else _Grouped.of(plan, plan.groups)


@dataclass(frozen=True)
class _Ordered:
    """Positions in their order; the last tile moves back to where it fits.

    Attributes:
        plan: the convolution.
        table: where every row starts in the image; None where they are evenly apart.
    """

    plan: ConvolutionPlan
    table: BufferOperand | None

    @classmethod
    def of(cls, plan: ConvolutionPlan) -> _Ordered:
        if plan.row_stride is not None:
            return cls(plan, None)
        table = _table(plan.positions)
        loops = [(number, each.extent) for number, (each, _) in enumerate(plan.rows)]

        def fill(position: Position) -> None:
            row, start = _row(plan, position)
            store(start, table, row)

        nested_loops(loops, {}, fill)
        return cls(plan, table)

    @property
    def tiles(self) -> int:
        return -(-self.plan.positions // self.plan.tile.rows)

    def start(self, tile: ir.Value) -> ir.Value:
        return tile_start(tile, self.plan.tile.rows, self.plan.positions)

    def sources(self, start: ir.Value) -> list[ir.Value]:
        rows = range(self.plan.tile.rows)
        if self.table is not None:
            return [load(self.table, _moved(start, row)) for row in rows]
        stride = self.plan.row_stride or 0
        first = integers.muli(start, index(stride))
        return [_moved(first, row * stride) for row in rows]

    def taps(self, tile: ir.Value, loop: int) -> tuple[ir.Value, ir.Value]:
        return index(0), index(self.plan.nest.loops[loop].extent)

    def meets_all(self, loop: int) -> bool:
        return True

    def written(self, tile: ir.Value) -> tuple[ir.Value, ir.Value]:
        nominal = integers.muli(tile, index(self.plan.tile.rows))
        # Rows that the last tile shares with the one before are done there.
        return integers.subi(nominal, self.start(tile)), index(self.plan.tile.rows)

    def put(
        self, epilogue: TileEpilogue, position: Position, start: ir.Value, column: ir.Value
    ) -> Put:
        return epilogue.at(position | {self.plan.row: start}, column)


@dataclass(frozen=True)
class _Grouped:
    """Positions group by group.

    Attributes:
        plan: the convolution.
        groups: its positions.
        starts: where every row starts in the image.
        numbers: the position of every row.
        tables: for every tile and loop over positions the first tap and the one behind the last,
            then how many of its rows are positions of their own.
    """

    plan: ConvolutionPlan
    groups: PositionGroups
    starts: BufferOperand
    numbers: BufferOperand
    tables: BufferOperand

    @classmethod
    def of(cls, plan: ConvolutionPlan, groups: PositionGroups) -> _Grouped:
        tiles = groups.tiles(plan.tile.rows)
        rows = tiles * plan.tile.rows
        width = 2 * len(groups.runs) + 1
        found = cls(plan, groups, _table(rows), _table(rows), _table(tiles * width))
        found._fill()
        return found

    @property
    def tiles(self) -> int:
        return self.groups.tiles(self.plan.tile.rows)

    def start(self, tile: ir.Value) -> ir.Value:
        return integers.muli(tile, index(self.plan.tile.rows))

    def sources(self, start: ir.Value) -> list[ir.Value]:
        return [load(self.starts, _moved(start, row)) for row in range(self.plan.tile.rows)]

    def taps(self, tile: ir.Value, loop: int) -> tuple[ir.Value, ir.Value]:
        if self.meets_all(loop):
            return index(0), index(self.plan.nest.loops[loop].extent)
        place = self._place(tile, 2 * self.groups.taps.index(loop))
        return load(self.tables, place), load(self.tables, _moved(place, 1))

    def meets_all(self, loop: int) -> bool:
        return loop not in self.groups.taps

    def written(self, tile: ir.Value) -> tuple[ir.Value, ir.Value]:
        return index(0), load(self.tables, self._place(tile, 2 * len(self.groups.runs)))

    def put(
        self, epilogue: TileEpilogue, position: Position, start: ir.Value, column: ir.Value
    ) -> Put:
        known: dict[int, Put] = {}

        def at(row: Row) -> Put:
            place = _moved(start, row) if isinstance(row, int) else integers.addi(start, row)
            number = load(self.numbers, place)
            return epilogue.at(position | {self.plan.row: number}, column)

        def write(value: ir.Value, row: Row, vector: int) -> None:
            if not isinstance(row, int):
                at(row)(value, 0, vector)
                return
            if row not in known:
                known[row] = at(row)
            known[row](value, 0, vector)

        return write

    def _place(self, tile: ir.Value, field: int) -> ir.Value:
        return _moved(integers.muli(tile, index(2 * len(self.groups.runs) + 1)), field)

    def _fill(self) -> None:
        """Fill the tables, group by group."""
        runs = [_run_table(each) for each in self.groups.runs]
        filled = _table(1)
        store(index(0), filled, index(0))

        def group(position: Position) -> None:
            fields = [
                [
                    load(table, _moved(integers.muli(position[number], index(_RUN_FIELDS)), field))
                    for field in range(_RUN_FIELDS)
                ]
                for number, table in enumerate(runs)
            ]
            tile = load(filled, index(0))
            store(integers.addi(tile, self._fill_group(fields, tile)), filled, index(0))

        nested_loops([(n, len(each)) for n, each in enumerate(self.groups.runs)], {}, group)

    def _fill_group(self, runs: Sequence[Sequence[ir.Value]], tile: ir.Value) -> ir.Value:
        """Fill in a group from the number `tile` on; returns its number of tiles."""
        height = self.plan.tile.rows
        first = integers.muli(tile, index(height))
        sizes = [integers.subi(end, begin) for begin, end, *_ in runs]

        def fill(position: Position) -> None:
            place = index(0)
            for number, size in enumerate(sizes):
                place = integers.addi(integers.muli(place, size), position[number])
            at = {n: integers.addi(run[0], position[n]) for n, run in enumerate(runs)}
            row, start = _row(self.plan, at)
            place = integers.addi(first, place)
            store(start, self.starts, place)
            store(row, self.numbers, place)

        nested_loops(list(enumerate(sizes)), {}, fill)
        count = index(1)
        for size in sizes:
            count = integers.muli(count, size)
        tiles = integers.divui(integers.addi(count, index(height - 1)), index(height))
        self._fill_up(integers.addi(first, count), integers.muli(tiles, index(height)), count)
        with loop(tiles) as number:
            place = self._place(integers.addi(tile, number), 0)
            fields = [each for run in runs for each in run[2:]]
            left = integers.subi(count, integers.muli(number, index(height)))
            for field, value in enumerate([*fields, integers.minsi(left, index(height))]):
                store(value, self.tables, _moved(place, field))
        return tiles

    def _fill_up(self, end: ir.Value, rows: ir.Value, count: ir.Value) -> None:
        """Repeat the row before `end` until the group has as many as `rows`."""
        last = integers.subi(end, index(1))
        with loop(integers.subi(rows, count)) as number:
            for table in (self.starts, self.numbers):
                store(load(table, last), table, integers.addi(end, number))


def _row(plan: ConvolutionPlan, position: Position) -> tuple[ir.Value, ir.Value]:
    """The number of a position, and how far it is from the first one in the image."""
    row = start = index(0)
    for number, (each, stride) in enumerate(plan.rows):
        row = integers.addi(integers.muli(row, index(each.extent)), position[number])
        start = plus(start, integers.muli(position[number], index(stride)))
    return row, start


def _run_table(runs: Sequence[Run]) -> BufferOperand:
    """The runs of a loop, filled in."""
    table = _table(len(runs) * _RUN_FIELDS)
    for number, run in enumerate(runs):
        fields = run.places.start, run.places.stop, run.taps.start, run.taps.stop
        for field, value in enumerate(fields):
            store(index(value), table, index(number * _RUN_FIELDS + field))
    return table


def _table(size: int) -> BufferOperand:
    return BufferOperand(allocate(size, ir.IndexType.get()), 0, ())


def _moved(start: ir.Value, distance: int) -> ir.Value:
    return integers.addi(start, index(distance)) if distance else start
