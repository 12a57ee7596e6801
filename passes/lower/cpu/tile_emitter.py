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

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
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
    store,
    tile_start,
)
from xyntra.passes.lower.cpu.panels import Block, Panels
from xyntra.passes.lower.cpu.tile_plan import TilePlan
from xyntra.passes.lower.cpu.vector_body import broadcast, emit_on_vectors

_Step = Callable[[Position, Sequence[ir.Value]], list[ir.Value]]


@dataclass(frozen=True)
class TileEmitter:
    """Writes one nest at the current insertion point.

    Attributes:
        nest: the contraction.
        plan: its tile.
        initial: the scalar that every element of the output starts from.
    """

    nest: LinearNest
    plan: TilePlan
    initial: ir.Value

    def emit(self) -> None:
        """Emit all loops."""
        panels = {
            number: Panels.allocated(self.nest, self.plan, self.nest.inputs[number])
            for number in sorted(self.plan.packed)
        }
        tiled = {self.plan.row_loop, *self.plan.column_loops}
        outer = [
            (number, each.extent)
            for number, each in enumerate(self.nest.loops)
            if not each.is_reduction and number not in tiled
        ]
        nested_loops(outer, {}, lambda position: self._columns(position, panels))

    def _columns(self, position: Position, panels: Mapping[int, Panels]) -> None:
        plan = self.plan
        extent = plan.extent(self.nest)
        tiles = _tiles(extent, plan.columns)
        with loop(_tiles(tiles, plan.panels)) as number:
            block = _block(number, plan.panels, tiles)
            for each in panels.values():
                each.fill(position, block)
            with loop(block.count) as panel:
                first = tile_start(arith.addi(block.first, panel), plan.columns, extent)
                operands = [
                    self._operand(access, panels.get(number), panel, first)
                    for number, access in enumerate(self.nest.inputs)
                ]
                self._rows(position, first, operands)

    def _operand(
        self, access: Access, panels: Panels | None, panel: ir.Value, first: ir.Value
    ) -> _Operand:
        if panels is not None:
            return _Operand(panels.first, panels.start(panel), by_column=True)
        by_column = bool(access.strides[self.plan.column_loops[-1]])
        return _Operand(access, first if by_column else index(0), by_column)

    def _rows(self, position: Position, first: ir.Value, operands: Sequence[_Operand]) -> None:
        plan = self.plan
        if plan.row_loop is None:
            self._tile(position, first, operands)
            return
        rows = self.nest.loops[plan.row_loop].extent
        with loop(_tiles(rows, plan.rows)) as tile:
            row = tile_start(tile, plan.rows, rows)
            self._tile(position | {plan.row_loop: row}, first, operands)

    def _tile(self, position: Position, first: ir.Value, operands: Sequence[_Operand]) -> None:
        plan = self.plan

        def step(position: Position, sums: Sequence[ir.Value]) -> list[ir.Value]:
            return self._step(operands, position, sums)

        initial = [broadcast(self.initial, plan.lanes)] * (plan.rows * plan.vectors)
        sums = self._reduce(self.nest.reductions, position, initial, step)
        self._store(position, first, sums)

    def _store(self, position: Position, first: ir.Value, sums: Sequence[ir.Value]) -> None:
        plan, output = self.plan, self.nest.outputs[0]
        column = output.strides[plan.column_loops[-1]]
        start = plus(offset(output, position), arith.muli(first, index(column)))
        for number, value in enumerate(sums):
            row, vector = divmod(number, plan.vectors)
            distance = row * plan.row_stride(output) + vector * plan.lanes * column
            if column == 1:
                place = _moved(start, distance)
                ir.Operation.create("vector.store", operands=[value, output.value, place])
                continue
            for lane in range(plan.lanes):
                place = _moved(start, distance + lane * column)
                store(_extract(value, lane), output, place)

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
            distance += vector * plan.lanes if operand.by_column else 0
            if distance not in loaded:
                place = _moved(start, distance)
                loaded[distance] = _load(access, place, plan.lanes, operand.by_column)
            return loaded[distance]

        return read


@dataclass(frozen=True)
class _Operand:
    """An input as one tile of columns reads it: where its columns start, if it moves with them."""

    access: Access
    start: ir.Value
    by_column: bool


def _block(number: ir.Value, panels: int, tiles: int) -> Block:
    first = arith.muli(number, index(panels))
    if tiles % panels == 0:
        return Block(first, index(panels))
    return Block(first, arith.minsi(index(panels), arith.subi(index(tiles), first)))


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)


def _moved(start: ir.Value, distance: int) -> ir.Value:
    return arith.addi(start, index(distance)) if distance else start


def _extract(value: ir.Value, lane: int) -> ir.Value:
    return emit(
        "vector.extract",
        [value],
        ir.VectorType(value.type).element_type,
        static_position=ir.DenseI64ArrayAttr.get([lane]),
    )


def _load(access: Access, place: ir.Value, lanes: int, is_vector: bool) -> ir.Value:
    if not is_vector:
        return broadcast(load(access, place), lanes)
    element = ir.MemRefType(access.value.type).element_type
    return emit("vector.load", [access.value, place], ir.VectorType.get([lanes], element))
