# SPDX-License-Identifier: MIT OR Apache-2.0
"""Panels of a whole constant operand, made once when the model is loaded.

A panel holds, for every step of the reductions, the columns of one tile; the last tile may start
inside the one before. Copying moves whole vectors where it can: columns that are contiguous are
copied a row at a time, in a few panels at once so that the source is read in runs, and columns
whose neighbours are steps of a reduction are transposed in registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.cpu.matmul.transposed_squares import copy_square
from xyntra.passes.lower.kernels.prepared_operands import prepared
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

_TILES_AT_ONCE = 8
_EDGE = 4
"""Rows and columns of a transposed square. Memory is the limit, so that larger ones are no faster;
but LLVM takes half as long for one of 16 as for the tiles of the kernel."""
_COLUMN, _STEP = -1, -2  # keys of a `Position` beside the numbers of the nest's loops


@dataclass(frozen=True)
class ConstantPanels:
    """The panels of one operand.

    Attributes:
        first: where the kernel finds them; strides are those of the reductions, and of the loops
            around the tiles that the operand moves with.
        size: elements of one panel.
        copy: all panels, as what fills them sees them.
    """

    first: BufferOperand
    size: int
    copy: ir.Value

    @classmethod
    def filled(cls, nest: LinearNest, plan: TilePlan, source: BufferOperand) -> ConstantPanels:
        """Add the panels of `source` to the kernel around, and what fills them.

        Args:
            nest: the contraction.
            plan: its tiles, with one column loop.
            source: satisfies `is_constant`.
        """
        strides = [0] * len(nest.loops)
        size = plan.columns
        for number in reversed(nest.reductions):
            strides[number] = size
            size *= nest.loops[number].extent
        panel = size
        size *= -(-plan.extent(nest) // plan.columns)
        outer = []
        tiled = {plan.row_loop, *plan.column_loops}
        for number, each in reversed(list(enumerate(nest.loops))):
            if not each.is_reduction and number not in tiled and source.strides[number]:
                strides[number] = size
                size *= each.extent
                outer.append((number, each.extent))
        memory = prepared(source, size)
        with memory.filling():
            target = BufferOperand(memory.copy, 0, tuple(strides))
            filler = _Filler(nest, plan, memory.source, target, panel)
            nested_loops(outer[::-1], {}, filler.fill)
        return cls(BufferOperand(memory.memory, 0, tuple(strides)), panel, memory.copy)


@dataclass(frozen=True)
class _Filler:
    nest: LinearNest
    plan: TilePlan
    source: BufferOperand
    target: BufferOperand
    panel: int

    def fill(self, position: Position) -> None:
        """Emit the loops over all panels at `position` of the loops around."""
        inner = self._transposed_loop()
        if inner is not None:
            self._fill_transposed(position, inner)
        elif self._column_stride == 1:
            self._fill_rows(position)
        else:
            self._fill_elements(position)

    @property
    def _column_stride(self) -> int:
        return self.source.strides[self.plan.column_loops[0]]

    @property
    def _tiles(self) -> int:
        return -(-self.plan.extent(self.nest) // self.plan.columns)

    def _transposed_loop(self) -> int | None:
        if self._column_stride == 1:
            return None
        for number in self.nest.reductions:
            if self.source.strides[number] == 1 and self._extent(number) >= _EDGE:
                return number
        return None

    def _extent(self, number: int) -> int:
        return self.nest.loops[number].extent

    def _reductions(self, *without: int) -> list[tuple[int, int | ir.Value]]:
        return [(i, self._extent(i)) for i in self.nest.reductions if i not in without]

    def _places(self, position: Position, tile: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return where the first column of `tile` is read, and where it goes, at `position`."""
        column = tile_start(tile, self.plan.columns, self.plan.extent(self.nest))
        read = plus(
            offset(self.source, position), integers.muli(column, index(self._column_stride))
        )
        panel = integers.muli(tile, index(self.panel))
        return read, plus(offset(self.target, position), panel)

    def _fill_rows(self, position: Position) -> None:
        kind = self._vector(self.plan.columns)

        def copy_row(inside: Position, tile: ir.Value) -> None:
            read, write = self._places(inside, tile)
            row = emit("vector.load", [self.source.value, read], kind)
            ir.Operation.create("vector.store", operands=[row, self.target.value, write])

        with loop(-(-self._tiles // _TILES_AT_ONCE)) as group:
            first = integers.muli(group, index(_TILES_AT_ONCE))
            count = integers.minsi(index(_TILES_AT_ONCE), integers.subi(index(self._tiles), first))

            def copy(inside: Position) -> None:
                with loop(count) as number:
                    copy_row(inside, integers.addi(first, number))

            nested_loops(self._reductions(), position, copy)

    def _fill_elements(self, position: Position) -> None:
        with loop(self._tiles) as tile:

            def copy(inside: Position) -> None:
                column = inside.pop(_COLUMN)
                read, write = self._places(inside, tile)
                read = integers.addi(read, integers.muli(column, index(self._column_stride)))
                store(load(self.source, read), self.target, integers.addi(write, column))

            nested_loops([(_COLUMN, self.plan.columns), *self._reductions()], position, copy)

    def _fill_transposed(self, position: Position, inner: int) -> None:
        """Copy squares of `_EDGE` columns and as many steps of loop `inner`."""
        extent = self._extent(inner)
        with loop(self._tiles) as tile:

            def copy(inside: Position) -> None:
                column = integers.muli(inside.pop(_COLUMN), index(_EDGE))
                inside[inner] = tile_start(inside.pop(_STEP), _EDGE, extent)
                read, write = self._places(inside, tile)
                read = integers.addi(read, integers.muli(column, index(self._column_stride)))
                places = read, integers.addi(write, column)
                steps = self._column_stride, self.target.strides[inner]
                copy_square(self.source, self.target, places, steps, _EDGE)

            squares = [(_COLUMN, self.plan.columns // _EDGE), (_STEP, -(-extent // _EDGE))]
            nested_loops([*self._reductions(inner), *squares], position, copy)

    def _vector(self, lanes: int) -> ir.VectorType:
        return ir.VectorType.get([lanes], ir.MemRefType(self.source.value.type).element_type)
