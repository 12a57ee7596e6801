# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies of what the columns of a tile read, in the order in which the reduction reads it."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan, column_run, transposed_loop
from xyntra.passes.lower.cpu.matmul.transposed_squares import copy_square
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    loop,
    nested_loops,
    offset,
    plus,
    store,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate

# Keys of a `Position` beside the numbers of the nest's loops.
_PANEL, _COLUMN = -1, -2


@dataclass(frozen=True)
class Block:
    """Neighbours that are worked on together: tiles, or steps of a reduction.

    Attributes:
        first: the number of the first one.
        count: how many there are.
    """

    first: ir.Value
    count: ir.Value


@dataclass(frozen=True)
class Panels:
    """Memory for one packed input: for every tile of a block a panel.

    A panel holds, for every step of the reductions, a row of the tile's columns.

    Attributes:
        nest: the contraction.
        plan: its tiles.
        source: the input.
        first: the first panel; its strides are those of the reductions.
        size: elements of one panel.
        places: where each run of columns starts in the source; None where all columns follow each
            other at the stride of one loop.
        run: columns that are copied at once, because they are contiguous in every tile.
    """

    nest: LinearNest
    plan: TilePlan
    source: BufferOperand
    first: BufferOperand
    size: int
    places: ir.Value | None
    run: int

    @classmethod
    def allocated(
        cls, nest: LinearNest, plan: TilePlan, source: BufferOperand, count: int = 1
    ) -> Panels:
        """Allocate `count` panels for `source` at the insertion point."""
        strides = [0] * len(nest.loops)
        size = plan.columns
        for number in reversed(nest.reductions):
            strides[number] = size
            size *= nest.loops[number].extent
        element = source.element_type
        first = BufferOperand(allocate(size * count, element), 0, tuple(strides))
        merged = len(plan.column_loops) > 1
        run = column_run(nest, source, plan.column_loops, plan.lanes) if merged else 1
        places = allocate(plan.columns // run, ir.IndexType.get()) if merged else None
        return cls(nest, plan, source, first, size, places, run)

    def start(self, panel: ir.Value) -> ir.Value:
        """Return where a panel starts."""
        return integers.muli(panel, index(self.size))

    def fill(self, position: Position, block: Block) -> None:
        """Emit the loops that copy the columns of `block`, at `position` of the outer loops."""
        reductions = [(number, self.nest.loops[number].extent) for number in self.nest.reductions]
        panel, column = (_PANEL, block.count), (_COLUMN, self.plan.columns // self.run)

        def copy(steps: Position) -> None:
            self._copy(position, block, steps)

        if self.places is not None:
            with loop(block.count) as number:
                self._find_places(self.places, self._first_column(block, number))
                nested_loops([*reductions, column], {_PANEL: number}, copy)
        elif (inner := self._transposed_loop()) is not None:
            self._fill_transposed(position, block, inner)
        elif self._columns_are_contiguous():
            nested_loops([*reductions, panel, column], {}, copy, parallel=True)
        else:
            nested_loops([panel, column, *reductions], {}, copy, parallel=True)

    def _transposed_loop(self) -> int | None:
        plan = self.plan
        return transposed_loop(self.nest, self.source, plan.column_loops, plan.lanes)

    def _fill_transposed(self, position: Position, block: Block, inner: int) -> None:
        """Emit the loops that copy squares of `lanes` columns and as many steps of loop `inner`."""
        lanes, extent = self.plan.lanes, self.nest.loops[inner].extent
        stride = self.source.strides[self.plan.column_loops[-1]]
        others = [(i, self.nest.loops[i].extent) for i in self.nest.reductions if i != inner]

        def copy(at: Position) -> None:
            column = integers.muli(at[_COLUMN], index(lanes))
            first = integers.addi(self._first_column(block, at[_PANEL]), column)
            first = integers.muli(first, index(stride))
            start = plus(self.start(at[_PANEL]), column)
            # The last square overlaps the one before: its loop belongs to one thread.
            with loop(-(-extent // lanes)) as square:
                inside = {number: at[number] for number, _ in others}
                inside[inner] = tile_start(square, lanes, extent)
                read = plus(offset(self.source, position | inside), first)
                places = read, plus(start, offset(self.first, inside))
                steps = stride, self.first.strides[inner]
                copy_square(self.source, self.first, places, steps, lanes)

        loops = [(_PANEL, block.count), *others, (_COLUMN, self.plan.vectors)]
        nested_loops(loops, {}, copy, parallel=True)

    def _columns_are_contiguous(self) -> bool:
        """Tell whether columns are closer together in the source than steps of a reduction."""
        column = abs(self.source.strides[self.plan.column_loops[-1]])
        return all(abs(self.source.strides[number]) >= column for number in self.nest.reductions)

    def _first_column(self, block: Block, panel: ir.Value) -> ir.Value:
        tile = integers.addi(block.first, panel)
        return tile_start(tile, self.plan.columns, self.plan.extent(self.nest))

    def _copy(self, position: Position, block: Block, steps: Position) -> None:
        panel, column = steps[_PANEL], steps[_COLUMN]
        inside = {number: steps[number] for number in self.nest.reductions}
        if self.places is not None:
            place = load(BufferOperand(self.places, 0, ()), column)
        else:
            stride = self.source.strides[self.plan.column_loops[-1]]
            place = integers.addi(self._first_column(block, panel), column)
            place = integers.muli(place, index(stride))
        place = plus(offset(self.source, position | inside), place)
        column = integers.muli(column, index(self.run))
        target = plus(self.start(panel), offset(self.first, inside), column)
        if self.run == 1:
            store(load(self.source, place), self.first, target)
            return
        element = ir.MemRefType(self.source.value.type).element_type
        kind = ir.VectorType.get([self.run], element)
        values = emit("vector.load", [self.source.value, place], kind)
        ir.Operation.create("vector.store", operands=[values, self.first.value, target])

    def _find_places(self, places: ir.Value, first: ir.Value) -> None:
        """Split the number of the first column of every run into the column loops."""
        with loop(self.plan.columns // self.run) as number:
            rest = integers.addi(first, integers.muli(number, index(self.run)))
            total = index(0)
            for column_loop in reversed(self.plan.column_loops):
                extent = index(self.nest.loops[column_loop].extent)
                stride = index(self.source.strides[column_loop])
                total = integers.addi(total, integers.muli(integers.remui(rest, extent), stride))
                rest = integers.divui(rest, extent)
            store(total, BufferOperand(places, 0, ()), number)


def block_of(number: ir.Value, size: int, extent: int) -> Block:
    """Return block `number` of blocks of `size`, the last of which may be shorter."""
    first = integers.muli(number, index(size))
    if extent % size == 0:
        return Block(first, index(size))
    return Block(first, integers.minsi(index(size), integers.subi(index(extent), first)))


def even_block(number: ir.Value, count: int, extent: int) -> Block:
    """Return block `number` of `count` that differ by one at most, the larger ones first."""
    size, larger = divmod(extent, count)
    if not larger:
        return Block(integers.muli(number, index(size)), index(size))
    before = integers.minsi(number, index(larger))
    first = integers.addi(integers.muli(number, index(size)), before)
    one_more = integers.minsi(index(1), integers.subi(index(larger), before))
    return Block(first, integers.addi(index(size), one_more))
