# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits a product of narrow integers as register tiles of 32-bit accumulators.

One factor is packed whole, the other in blocks that stay in the second-level cache while they are
multiplied. At an edge the last tile moves back to where it fits. Where a processor multiplies
unsigned with signed integers only and both factors are of one kind, the rows are moved by 128,
which subtracts 128 times the sum of a column from every result; the tile starts from the opposite.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.cpu.matmul.tile_writer import RegisterTile, TileWriter
from xyntra.passes.lower.cpu.matmul_int8.dot_products import DotProduct
from xyntra.passes.lower.cpu.matmul_int8.panels import ColumnPanels, PanelCopy, RowPanel
from xyntra.passes.lower.cpu.matmul_int8.product import IntegerMatmul
from xyntra.passes.lower.cpu.matmul_int8.shape import Shape
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    loop,
    nested_loops,
    plus,
    tile_start,
)
from xyntra.passes.lower.loops.vector_body import broadcast

__all__ = ["IntegerEmitter"]

_BLOCK_BYTES = 160 << 10  # a part of a usual second-level cache
_MIN_BLOCKS = 8  # so that several threads find work
_SUM_BYTES = 4


@dataclass(frozen=True)
class IntegerEmitter:
    """Writes one product at the current insertion point.

    Attributes:
        product: what is computed.
        shape: its tiles; no larger than the result.
        dot: the instruction.
        initial: the scalar that every sum starts from.
        epilogue: what happens to each sum before it is stored, over the product's loops.
    """

    product: IntegerMatmul
    shape: Shape
    dot: DotProduct
    initial: ir.Value
    epilogue: Epilogue | None

    def emit(self) -> None:
        """Emit all loops."""
        product, plan = self.product, self._plan()
        output = product.merged(product.nest.outputs[0])
        ending = TileEpilogue.of(plan, output, product.merged_epilogue(self.epilogue))
        rows, columns = self._panels()
        writer = TileWriter.create(ending, self._row_tiles, self.initial.type, _SUM_BYTES)
        blocks = _Blocks.of(self)
        state = _State(rows, columns, writer, blocks)
        outer = [(number, product.nest.loops[each].extent) for number, each in self._outer()]
        whole = (columns if blocks.of_rows else rows).copy
        moves = any(whole.factor.access.strides[each] for each in product.outer)
        if not moves and not whole.is_prepared:
            self._fill_whole(state, {})

        def emit_one(position: Position) -> None:
            if moves:
                self._fill_whole(state, position)
            self._blocks(state, position)

        nested_loops(outer, {}, emit_one)

    @property
    def _row_tiles(self) -> int:
        return -(-self.product.rows.extent // self.shape.rows)

    @property
    def _column_tiles(self) -> int:
        return -(-self.product.columns.extent // self.shape.columns)

    @property
    def _flips_rows(self) -> bool:
        narrow = self.product.rows.narrow, self.product.columns.narrow
        return self.dot.group == 4 and narrow[0].is_unsigned == narrow[1].is_unsigned

    def _outer(self) -> list[tuple[int, int]]:
        return list(enumerate(self.product.outer))

    def _plan(self) -> TilePlan:
        row = len(self.product.outer)
        shape = self.shape
        return TilePlan(row, (row + 1,), shape.rows, shape.vectors, shape.lanes, frozenset(), 0.0)

    def _panels(self) -> tuple[RowPanel, ColumnPanels]:
        blocks = _Blocks.of(self)
        rows = blocks.size if blocks.of_rows else self.product.rows.extent
        tiles = self._column_tiles if blocks.of_rows else blocks.size
        flip = self._flips_rows
        row_copy = PanelCopy(self.product, self.product.rows, self.dot, flip)
        column_copy = PanelCopy(self.product, self.product.columns, self.dot)
        return RowPanel.made(row_copy, rows), ColumnPanels.made(
            column_copy, self.shape.columns, tiles, with_sums=flip
        )

    def _own(self, position: Position) -> Position:
        """Return where the product's own loops stand."""
        return {each: position[number] for number, each in self._outer() if number in position}

    def _first_column(self, tile: ir.Value) -> ir.Value:
        return tile_start(tile, self.shape.columns, self.product.columns.extent)

    def _fill_whole(self, state: _State, position: Position) -> None:
        own = self._own(position)
        if state.blocks.of_rows:
            state.columns.fill(own, self._column_tiles, self._first_column)
        else:
            state.rows.fill(own, index(0), self.product.rows.extent)

    def _blocks(self, state: _State, position: Position) -> None:
        blocks = state.blocks
        with loop(blocks.count, parallel=True) as number:
            first = integers.muli(number, index(blocks.size))
            size = integers.minsi(index(blocks.size), integers.subi(index(blocks.extent), first))
            if blocks.of_rows:
                if not state.rows.copy.is_prepared:
                    state.rows.fill(self._own(position), first, size)
                self._tiles(state, position, _Part(first, size, index(0), self._column_tiles))
            else:
                if not state.columns.copy.is_prepared:
                    state.columns.fill(
                        self._own(position),
                        size,
                        lambda tile: self._first_column(integers.addi(first, tile)),
                    )
                rows = index(self.product.rows.extent)
                self._tiles(state, position, _Part(index(0), rows, first, size))

    def _tiles(self, state: _State, position: Position, part: _Part) -> None:
        """Emit the tiles of a block, in strips of as many rows as the writer takes."""
        row_key, height = len(self.product.outer), self.shape.rows * state.writer.tiles
        writer = state.writer
        with loop(part.tiles, parallel=True) as tile:
            number_of_all = integers.addi(part.first_tile, tile)
            column = self._first_column(number_of_all)
            panel = number_of_all if state.columns.is_whole else tile
            strips = integers.divui(integers.addi(part.rows, index(height - 1)), index(height))
            with loop(strips) as strip:
                start = integers.muli(strip, index(height))
                size = integers.minsi(index(height), integers.subi(part.rows, start))
                rounded = integers.addi(size, index(self.shape.rows - 1))
                with loop(integers.divui(rounded, index(self.shape.rows))) as number:
                    row = integers.addi(start, integers.muli(number, index(self.shape.rows)))
                    row = integers.minsi(row, integers.subi(part.rows, index(self.shape.rows)))
                    in_all = plus(part.first_row, row)
                    place = position | {row_key: in_all}
                    accumulators = self._sums(state, in_all if state.rows.is_whole else row, panel)
                    writer.write(
                        RegisterTile(place, column, integers.subi(row, start)), accumulators
                    )
                at = position | {row_key: plus(part.first_row, start)}
                writer.finish(at, column, size)

    def _sums(self, state: _State, row: ir.Value, tile: ir.Value) -> list[ir.Value]:
        shape, start = self.shape, state.columns.start(tile)
        first = self._first_sums(state.columns, tile)
        initial = [first[vector] for _ in range(shape.rows) for vector in range(shape.vectors)]
        rows = [integers.addi(row, index(number)) for number in range(shape.rows)]
        built = carrying_loop(state.columns.copy.depth // self.dot.group, initial)
        with ir.InsertionPoint(built.body):
            group = built.induction_variable
            columns = [
                state.columns.read(start, group, vector * shape.lanes, shape.lanes)
                for vector in range(shape.vectors)
            ]
            factors = [state.rows.read(each, group, shape.lanes) for each in rows]
            accumulators = [
                self._accumulate(
                    total, factors[number // shape.vectors], columns[number % shape.vectors]
                )
                for number, total in enumerate(built.inner_iter_args)
            ]
            scf.YieldOp(accumulators)
        return list(built.results)

    def _accumulate(self, total: ir.Value, row: ir.Value, columns: ir.Value) -> ir.Value:
        if self.dot.group == 2 or not self.product.columns.narrow.is_unsigned:
            return self.dot.accumulate(total, row, columns)
        return self.dot.accumulate(total, columns, row)

    def _first_sums(self, columns: ColumnPanels, tile: ir.Value) -> list[ir.Value]:
        shape = self.shape
        start = broadcast(self.initial, shape.lanes)
        if columns.accumulators is None:
            return [start] * shape.vectors
        first = integers.muli(tile, index(shape.columns))
        # Flipping added 128 to signed rows, and took it from unsigned ones.
        factor = 128 if self.product.rows.narrow.is_unsigned else -128
        word = self.initial.type
        by = emit("arith.constant", [], word, value=ir.IntegerAttr.get(word, factor))
        found = []
        for vector in range(shape.vectors):
            place = plus(first, index(vector * shape.lanes))
            accumulators = emit("vector.load", [columns.accumulators.value, place], start.type)
            found.append(
                integers.addi(start, integers.muli(accumulators, broadcast(by, shape.lanes)))
            )
        return found


@dataclass(frozen=True)
class _State:
    rows: RowPanel
    columns: ColumnPanels
    writer: TileWriter
    blocks: _Blocks


@dataclass(frozen=True)
class _Part:
    """Rows and tiles of columns that are multiplied with each other.

    Attributes:
        first_row: number of the first row; a row panel that is not whole starts with it.
        rows: how many rows there are.
        first_tile: number of the first tile; column panels that are not whole start with it.
        tiles: how many tiles there are.
    """

    first_row: ir.Value
    rows: ir.Value
    first_tile: ir.Value
    tiles: int | ir.Value


@dataclass(frozen=True)
class _Blocks:
    """A cut of the larger factor into blocks.

    Attributes:
        of_rows: rows are cut, and not tiles of columns.
        extent: rows, or tiles of columns, in all.
        size: of one block.
        count: the number of blocks.
    """

    of_rows: bool
    extent: int
    size: int
    count: int

    @classmethod
    def of(cls, emitter: IntegerEmitter) -> _Blocks:
        """Cut the factor with the larger panels."""
        product, shape = emitter.product, emitter.shape
        item_bytes = product.depth * emitter.dot.bits // 8
        of_rows = product.rows.extent > product.columns.extent
        if of_rows:
            tile, extent = shape.rows, product.rows.extent
        else:
            tile, extent = 1, -(-product.columns.extent // shape.columns)
            item_bytes *= shape.columns
        most = max(1, min(_BLOCK_BYTES // (item_bytes * tile), -(-extent // (tile * _MIN_BLOCKS))))
        count = -(-extent // min(extent, most * tile))
        # Tiles at the edge move back inside of their block, so the last one must hold one.
        while extent - (count - 1) * -(-extent // count) < tile:
            count -= 1
        return cls(of_rows, extent, -(-extent // count), count)
