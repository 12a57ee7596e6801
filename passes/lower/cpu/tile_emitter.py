# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits a contraction as tiles that stay in vector registers for the whole reduction.

Around the tile go the loops over columns and rows; further parallel loops go outside. At an edge
the last tile moves back to where it fits and computes some elements a second time, which needs no
masks and no second copy of the code. That is right because a tile starts from a constant, not from
what the output holds. What the columns of one tile read may be packed into a panel first, so that
the reduction walks through it in order (Goto and van de Geijn, "Anatomy of High-Performance Matrix
Multiplication", 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.constant_panels import ConstantPanels
from xyntra.passes.lower.cpu.epilogue import Epilogue
from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest
from xyntra.passes.lower.cpu.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    loop,
    nested_loops,
    offset,
    plus,
    tile_start,
)
from xyntra.passes.lower.cpu.panels import Block, Panels
from xyntra.passes.lower.cpu.tile_epilogue import TileEpilogue
from xyntra.passes.lower.cpu.tile_plan import TilePlan
from xyntra.passes.lower.cpu.tile_writer import Tile, TileWriter
from xyntra.passes.lower.cpu.vector_body import broadcast, emit_on_vectors

_Step = Callable[[Position, Sequence[ir.Value]], list[ir.Value]]


@dataclass(frozen=True)
class TileEmitter:
    """Writes one nest at the current insertion point.

    Attributes:
        nest: the contraction.
        plan: its tile.
        initial: the scalar that every element of the output starts from.
        epilogue: what happens to each element of the result before it is stored, if anything.
    """

    nest: LinearNest
    plan: TilePlan
    initial: ir.Value
    epilogue: Epilogue | None = None

    def emit(self, position: Position | None = None) -> None:
        """Emit all loops that `position` lacks."""
        position = position or {}
        epilogue = TileEpilogue.of(self.plan, self.nest.outputs[0], self.epilogue)
        element = self.initial.type
        row_tiles = _tiles(self._row_extent, self.plan.rows)
        writer = TileWriter.create(epilogue, row_tiles, element, ITEM_BYTES[str(element)])
        panels = {
            number: Panels.allocated(self.nest, self.plan, self.nest.inputs[number])
            for number in sorted(self.plan.packed)
        }
        constants = {
            number: ConstantPanels.filled(self.nest, self.plan, self.nest.inputs[number])
            for number in sorted(self.plan.prepared)
        }
        tiled = {self.plan.row_loop, *self.plan.column_loops}
        outer = [
            (number, each.extent)
            for number, each in enumerate(self.nest.loops)
            if not each.is_reduction and number not in tiled and number not in position
        ]

        def columns(inside: Position) -> None:
            self._columns(inside, panels, constants, writer)

        nested_loops(outer, position, columns, parallel=True)

    def _columns(
        self,
        position: Position,
        panels: Mapping[int, Panels],
        constants: Mapping[int, ConstantPanels],
        writer: TileWriter,
    ) -> None:
        plan = self.plan
        extent = plan.extent(self.nest)
        tiles = _tiles(extent, plan.columns)
        with loop(_tiles(tiles, plan.panels), parallel=True) as number:
            block = _block(number, plan.panels, tiles)
            for each in panels.values():
                each.fill(position, block)
            with loop(block.count, parallel=True) as panel:
                tile = arith.addi(block.first, panel)
                first = tile_start(tile, plan.columns, extent)
                operands = [
                    self._operand(access, panels.get(number), panel, first)
                    for number, access in enumerate(self.nest.inputs)
                ]
                for number, each in constants.items():
                    start = arith.muli(tile, index(each.size))
                    operands[number] = _Operand(each.first, start, 1)
                self._strips(position, first, operands, writer)

    def _operand(
        self, access: Access, panels: Panels | None, panel: ir.Value, first: ir.Value
    ) -> _Operand:
        if panels is not None:
            return _Operand(panels.first, panels.start(panel), 1)
        column = access.strides[self.plan.column_loops[-1]]
        return _Operand(access, arith.muli(first, index(column)), column)

    @property
    def _row_extent(self) -> int:
        row_loop = self.plan.row_loop
        return 1 if row_loop is None else self.nest.loops[row_loop].extent

    def _strips(
        self,
        position: Position,
        column: ir.Value,
        operands: Sequence[_Operand],
        writer: TileWriter,
    ) -> None:
        """Emit the tiles below each other, in strips of as many as `writer` takes."""
        rows, height = self._row_extent, self.plan.rows * writer.tiles
        with loop(_tiles(rows, height), parallel=True) as strip:
            first = arith.muli(strip, index(height))
            size = arith.minsi(index(height), arith.subi(index(rows), first))
            rounded = arith.addi(size, index(self.plan.rows - 1))
            with loop(arith.divui(rounded, index(self.plan.rows)), parallel=True) as number:
                start = arith.addi(first, arith.muli(number, index(self.plan.rows)))
                if rows % self.plan.rows:
                    start = arith.minsi(start, index(rows - self.plan.rows))
                place = self._at_row(position, start)
                writer.epilogue.prefetch(place, column)
                sums = self._sums(place, operands)
                writer.write(Tile(place, column, arith.subi(start, first)), sums)
            writer.finish(self._at_row(position, first), column, size)

    def _at_row(self, position: Position, row: ir.Value) -> Position:
        return position if self.plan.row_loop is None else position | {self.plan.row_loop: row}

    def _sums(self, position: Position, operands: Sequence[_Operand]) -> list[ir.Value]:
        plan = self.plan

        def step(position: Position, sums: Sequence[ir.Value]) -> list[ir.Value]:
            return self._step(operands, position, sums)

        initial = [broadcast(self.initial, plan.lanes)] * (plan.rows * plan.vectors)
        return self._reduce(self.nest.reductions, position, initial, step)

    def _reduce(
        self, loops: Sequence[int], position: Position, sums: Sequence[ir.Value], step: _Step
    ) -> list[ir.Value]:
        if not loops:
            return step(position, sums)
        built = carrying_loop(self.nest.loops[loops[0]].extent, sums)
        with ir.InsertionPoint(built.body):
            inside = position | {loops[0]: built.induction_variable}
            scf.YieldOp(self._reduce(loops[1:], inside, list(built.inner_iter_args), step))
        return list(built.results)

    def _step(
        self, operands: Sequence[_Operand], position: Position, sums: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Combine the accumulators with one element of every reduction."""
        readers = [self._reader(operand, position) for operand in operands]
        results = []
        for number, accumulator in enumerate(sums):
            row, vector = divmod(number, self.plan.vectors)
            arguments = [read(row, vector) for read in readers]
            results.append(
                emit_on_vectors(self.nest.body, [*arguments, accumulator], self.plan.lanes)
            )
        return results

    def _reader(self, operand: _Operand, position: Position) -> Callable[[int, int], ir.Value]:
        """Return a function that loads the vector for a row and vector of the tile, once."""
        plan, access = self.plan, operand.access
        loaded: dict[int, ir.Value] = {}
        if access.is_scalar:
            return lambda row, vector: broadcast(access.value, plan.lanes)
        start = plus(offset(access, position), operand.start)

        def read(row: int, vector: int) -> ir.Value:
            distance = row * plan.row_stride(access)
            distance += vector * plan.lanes * operand.column
            if distance not in loaded:
                place = _moved(start, distance)
                loaded[distance] = _load(access, place, plan.lanes, operand.column)
            return loaded[distance]

        return read


@dataclass(frozen=True)
class _Operand:
    """An input as one tile of columns reads it.

    Attributes:
        access: the input, or its panels.
        start: where the columns start.
        column: how far apart they are, 0 to 2.
    """

    access: Access
    start: ir.Value
    column: int


def _block(number: ir.Value, panels: int, tiles: int) -> Block:
    first = arith.muli(number, index(panels))
    if tiles % panels == 0:
        return Block(first, index(panels))
    return Block(first, arith.minsi(index(panels), arith.subi(index(tiles), first)))


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)


def _moved(start: ir.Value, distance: int) -> ir.Value:
    return arith.addi(start, index(distance)) if distance else start


def _load(access: Access, place: ir.Value, lanes: int, column: int) -> ir.Value:
    if column == 0:
        return broadcast(load(access, place), lanes)
    kind = ir.VectorType.get([lanes], ir.MemRefType(access.value.type).element_type)
    low = emit("vector.load", [access.value, place], kind)
    if column == 1:
        return low
    # The second half starts one element early, so as not to read behind the last one.
    high = emit("vector.load", [access.value, _moved(place, lanes - 1)], kind)
    chosen = [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)]
    return emit("vector.shuffle", [low, high], kind, mask=ir.DenseI64ArrayAttr.get(chosen))
