# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits a contraction as register tiles: accumulators stay in vector registers along K.

Around the tile go the loops over rows and columns, in blocks that stay in a cache; further parallel
loops go outside. At an edge the last tile moves back to where it fits and computes some elements a
second time, which needs no masks and no second copy of the code. That is right because a tile
starts from a constant, or from accumulators of its own, not from what the output holds. What the
columns of one tile read may be packed into a panel first, so that the reduction walks through it in
order. A long reduction is cut into parts, and the accumulators wait in memory meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.matmul.micro_kernel import MicroKernel, Steps, TileOperand
from xyntra.passes.lower.cpu.matmul.panels.constant_panels import ConstantPanels
from xyntra.passes.lower.cpu.matmul.panels.panel_prefetch import PanelPrefetch
from xyntra.passes.lower.cpu.matmul.panels.panels import Block, Panels, block_of, even_block
from xyntra.passes.lower.cpu.matmul.partial_sums import PartialSums
from xyntra.passes.lower.cpu.matmul.tile_blocking import Blocking
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.cpu.matmul.tile_writer import RegisterTile, TileWriter
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    loop,
    nested_loops,
    offset,
    tile_start,
)
from xyntra.passes.lower.loops.vector_body import broadcast

_ROWS, _COLUMNS = -1, -2  # keys of a `Position` beside the numbers of the nest's loops


@dataclass(frozen=True)
class TileEmitter:
    """Writes one nest at the current insertion point.

    Attributes:
        nest: the contraction.
        plan: its tile.
        blocking: which tiles are worked on together.
        initial: the scalar that every element of the output starts from.
        epilogue: what happens to each element of the result before it is stored, if anything.
    """

    nest: LinearNest
    plan: TilePlan
    blocking: Blocking
    initial: ir.Value
    epilogue: Epilogue | None

    def emit(self, position: Position) -> None:
        """Emit all loops that `position` lacks."""
        element = self.initial.type
        item_bytes = ITEM_BYTES[str(element)]
        blocking = self.blocking
        epilogue = TileEpilogue.of(self.plan, self.nest.outputs[0], self.epilogue)
        writer = TileWriter.create(epilogue, blocking.rows, element, item_bytes)
        inputs = self.nest.inputs
        packed = {
            number: Panels.allocated(self.nest, self.plan, inputs[number], blocking.columns)
            for number in sorted(self.plan.packed)
        }
        prepared = {
            number: ConstantPanels.filled(self.nest, self.plan, inputs[number])
            for number in sorted(self.plan.prepared)
        }
        waiting = None
        if blocking.steps is not None:
            waiting = PartialSums.allocated(self.plan, blocking, element)
        blocks = _Blocks(
            self.nest, self.plan, blocking, self.initial, writer, packed, prepared, waiting
        )
        tiled = {self.plan.row_loop, *self.plan.column_loops}
        outer = [
            (number, each.extent)
            for number, each in enumerate(self.nest.loops)
            if not each.is_reduction and number not in tiled and number not in position
        ]
        nested_loops(outer, position, blocks.emit, parallel=True)


@dataclass(frozen=True)
class _Part:
    """A part of the reduction, and whether it is the first or the last one."""

    steps: Steps
    is_first: ir.Value
    is_last: ir.Value


@dataclass(frozen=True)
class _Column:
    """Tiles below each other.

    Attributes:
        position: where the loops around all tiles stand.
        first: the first column.
        number: which tile of its block it is.
        operands: the inputs.
        part: the part of the reduction; None for all of it.
        ahead: what the tiles ask for that is read next.
    """

    position: Position
    first: ir.Value
    number: ir.Value
    operands: Sequence[TileOperand]
    part: _Part | None
    ahead: Sequence[PanelPrefetch]


@dataclass(frozen=True)
class _Blocks:
    """The loops over the blocks of one matrix, and over the tiles of each.

    Attributes:
        nest: the contraction.
        plan: its tile.
        blocking: its blocks.
        initial: the scalar that every element of the output starts from.
        writer: takes finished tiles.
        packed: the panels of inputs that are packed for every block of columns.
        prepared: the panels that are there from the start.
        waiting: where tiles are between two parts of the reduction; None where there is one part.
    """

    nest: LinearNest
    plan: TilePlan
    blocking: Blocking
    initial: ir.Value
    writer: TileWriter
    packed: Mapping[int, Panels]
    prepared: Mapping[int, ConstantPanels]
    waiting: PartialSums | None

    def emit(self, position: Position) -> None:
        """Emit everything inside the loops of `position`."""
        tiles = _tiles(self.plan.extent(self.nest), self.plan.columns)
        rows = _tiles(self._row_extent, self.plan.rows)
        column_blocks = self.blocking.column_blocks
        row_blocks = (_ROWS, _tiles(rows, self.blocking.rows))

        def emit_block(place: Position) -> None:
            columns = even_block(place[_COLUMNS], column_blocks, tiles)
            self._parts(position, columns, block_of(place[_ROWS], self.blocking.rows, rows))

        if self.blocking.rows_outside:
            nested_loops([row_blocks, (_COLUMNS, column_blocks)], {}, emit_block, parallel=True)
            return
        with loop(column_blocks, parallel=True) as number:
            for each in self.packed.values():
                each.fill(position, even_block(number, column_blocks, tiles))
            nested_loops([row_blocks], {_COLUMNS: number}, emit_block, parallel=True)

    @property
    def _row_extent(self) -> int:
        row_loop = self.plan.row_loop
        return 1 if row_loop is None else self.nest.loops[row_loop].extent

    def _parts(self, position: Position, columns: Block, rows: Block) -> None:
        """Emit one block, part by part of the reduction."""
        if self.blocking.steps is None:
            self._columns(position, columns, rows, None)
            return
        extent = self.nest.loops[self.nest.reductions[0]].extent
        count = _tiles(extent, self.blocking.steps)
        with loop(count) as number:
            steps = block_of(number, self.blocking.steps, extent)
            first, last = (_is_equal(number, each) for each in (0, count - 1))
            part = _Part(Steps(steps.first, steps.count), first, last)
            self._columns(position, columns, rows, part)

    def _columns(self, position: Position, columns: Block, rows: Block, part: _Part | None) -> None:
        # Accumulators that wait in memory do so in the memory of one thread.
        with loop(columns.count, parallel=part is None) as number:
            tile = integers.addi(columns.first, number)
            first = tile_start(tile, self.plan.columns, self.plan.extent(self.nest))
            operands = [
                self._operand(each, number, tile, first) for each in range(len(self.nest.inputs))
            ]
            ahead = self._ahead(position, tile, part)
            self._strips(_Column(position, first, number, operands, part, ahead), rows)

    def _ahead(self, position: Position, tile: ir.Value, part: _Part | None) -> list[PanelPrefetch]:
        """Return what comes after a part of the panels of `tile`, where every panel is a block."""
        if self.blocking.columns > 1:
            return []
        found = []
        for whole in self.prepared.values():
            step = whole.first.strides[self.nest.reductions[0]]
            size, done = whole.size, index(whole.size)
            if part is not None:
                size = step * (self.blocking.steps or 0)
                done = integers.addi(part.steps.first, part.steps.count)
                done = integers.muli(done, index(step))
            start = integers.addi(offset(whole.first, position), done)
            start = integers.addi(start, integers.muli(tile, index(whole.size)))
            found.append(PanelPrefetch.planned(whole.first, start, size, self.blocking.rows))
        return [each for each in found if each is not None]

    def _operand(
        self, number: int, panel: ir.Value, tile: ir.Value, first: ir.Value
    ) -> TileOperand:
        if number in self.packed:
            panels = self.packed[number]
            return TileOperand(panels.first, panels.start(panel), 1)
        if number in self.prepared:
            whole = self.prepared[number]
            return TileOperand(whole.first, integers.muli(tile, index(whole.size)), 1)
        access = self.nest.inputs[number]
        column = access.strides[self.plan.column_loops[-1]]
        return TileOperand(access, integers.muli(first, index(column)), column)

    def _strips(self, column: _Column, rows: Block) -> None:
        """Emit the tiles below each other, in strips of as many as the writer takes."""
        size = self.writer.tiles
        count = integers.divui(integers.addi(rows.count, index(size - 1)), index(size))
        with loop(count, parallel=column.part is None) as strip:
            before = integers.muli(strip, index(size))
            tiles = integers.minsi(index(size), integers.subi(rows.count, before))
            first = integers.muli(integers.addi(rows.first, before), index(self.plan.rows))
            with loop(tiles) as number:
                self._tile(column, rows, integers.addi(before, number), first)
            height = integers.muli(tiles, index(self.plan.rows))
            height = integers.minsi(height, integers.subi(index(self._row_extent), first))
            with _where(column.part):
                self.writer.finish(self._at_row(column.position, first), column.first, height)

    def _tile(self, column: _Column, rows: Block, number: ir.Value, strip: ir.Value) -> None:
        """Emit tile `number` of `rows`, in the strip that starts at row `strip`."""
        row = tile_start(integers.addi(rows.first, number), self.plan.rows, self._row_extent)
        place = self._at_row(column.position, row)
        kernel = MicroKernel(self.nest, self.plan)
        tile = RegisterTile(place, column.first, integers.subi(row, strip))
        with _where(column.part):
            self.writer.epilogue.prefetch(place, column.first)
        for each in column.ahead:
            each.ask(number)
        if column.part is None or self.waiting is None:
            initial = [broadcast(self.initial, self.plan.lanes)] * kernel.accumulators
            self.writer.write(tile, kernel.emit(place, column.operands, initial))
            return
        part, start = column.part, self.waiting.start(column.number, number)
        initial = self.waiting.resume(part.is_first, self.initial, start)
        values = kernel.emit(place, column.operands, initial, part.steps)
        branch = scf.IfOp(part.is_last, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self.writer.write(tile, values)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            self.waiting.save(values, start)
            scf.YieldOp([])

    def _at_row(self, position: Position, row: ir.Value) -> Position:
        return position if self.plan.row_loop is None else position | {self.plan.row_loop: row}


@contextmanager
def _where(part: _Part | None) -> Iterator[None]:
    """Let what is emitted inside happen in the last part only."""
    if part is None:
        yield
        return
    branch = scf.IfOp(part.is_last)
    with ir.InsertionPoint(branch.then_block):
        yield
        scf.YieldOp([])


def _is_equal(value: ir.Value, number: int) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.eq, value, index(number))


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)
