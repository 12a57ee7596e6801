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
from math import prod

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
    offset,
    plus,
    store,
)
from xyntra.passes.lower.cpu.panels import Panel, fill_panel, new_panel
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
            number: new_panel(self.nest, self.plan, self.nest.inputs[number])
            for number in sorted(self.plan.packed)
        }
        tiled = {self.plan.row_loop, *self.plan.column_loops}
        outer = [
            number
            for number, each in enumerate(self.nest.loops)
            if not each.is_reduction and number not in tiled
        ]
        self._outer_loops(outer, {}, panels)

    def _outer_loops(
        self, outer: Sequence[int], position: Position, panels: Mapping[int, Panel]
    ) -> None:
        if not outer:
            self._columns(position, panels)
            return
        with loop(self.nest.loops[outer[0]].extent) as step:
            self._outer_loops(outer[1:], position | {outer[0]: step}, panels)

    def _columns(self, position: Position, panels: Mapping[int, Panel]) -> None:
        plan = self.plan
        extent = prod(self.nest.loops[number].extent for number in plan.column_loops)
        with loop(_tiles(extent, plan.columns)) as tile:
            first = _tile_start(tile, plan.columns, extent)
            for panel in panels.values():
                fill_panel(self.nest, plan, panel, position, first)
            if plan.row_loop is None:
                self._tile(position, first, panels)
                return
            rows = self.nest.loops[plan.row_loop].extent
            with loop(_tiles(rows, plan.rows)) as row_tile:
                row = _tile_start(row_tile, plan.rows, rows)
                self._tile(position | {plan.row_loop: row}, first, panels)

    def _tile(self, position: Position, first: ir.Value, panels: Mapping[int, Panel]) -> None:
        plan = self.plan
        operands = [
            _Operand(panels[number].packed if number in panels else access, number in panels)
            for number, access in enumerate(self.nest.inputs)
        ]
        reductions = [number for number, each in enumerate(self.nest.loops) if each.is_reduction]

        def step(position: Position, sums: Sequence[ir.Value]) -> list[ir.Value]:
            return self._step(operands, position, first, sums)

        initial = broadcast(self.initial, plan.lanes)
        sums = self._reduce(reductions, position, [initial] * (plan.rows * plan.vectors), step)
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
        self,
        operands: Sequence[_Operand],
        position: Position,
        first: ir.Value,
        sums: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """Combine the accumulators with one element of every reduction."""
        readers = [self._reader(operand, position, first) for operand in operands]
        results = []
        for number, accumulator in enumerate(sums):
            row, vector = divmod(number, self.plan.vectors)
            arguments = [read(row, vector) for read in readers]
            results.append(
                emit_on_vectors(self.nest.body, [*arguments, accumulator], self.plan.lanes)
            )
        return results

    def _reader(
        self, operand: _Operand, position: Position, first: ir.Value
    ) -> Callable[[int, int], ir.Value]:
        """Return a function that loads the vector for a row and vector of the tile, once."""
        plan, access = self.plan, operand.access
        loaded: dict[int, ir.Value] = {}
        if access.is_scalar:
            return lambda row, vector: broadcast(access.value, plan.lanes)
        by_column = operand.is_panel or bool(access.strides[plan.column_loops[-1]])
        start = offset(access, position)
        if by_column and not operand.is_panel:
            start = plus(start, first)

        def read(row: int, vector: int) -> ir.Value:
            distance = row * plan.row_stride(access)
            distance += vector * plan.lanes if by_column else 0
            if distance not in loaded:
                loaded[distance] = _load(access, _moved(start, distance), plan.lanes, by_column)
            return loaded[distance]

        return read


@dataclass(frozen=True)
class _Operand:
    """An input of the tile: itself, or the panel that holds its columns of this tile only."""

    access: Access
    is_panel: bool


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)


def _tile_start(tile: ir.Value, size: int, extent: int) -> ir.Value:
    """Return the first element of a tile; the last tile moves back to where it fits."""
    start = arith.muli(tile, index(size))
    return start if extent % size == 0 else arith.minsi(start, index(extent - size))


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
