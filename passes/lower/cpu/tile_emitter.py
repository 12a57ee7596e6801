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

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest
from xyntra.passes.lower.cpu.memrefs import allocate
from xyntra.passes.lower.cpu.tile_plan import TilePlan
from xyntra.passes.lower.cpu.vector_body import broadcast, emit_on_vectors

Position = dict[int, ir.Value]


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
        panels = {index: self._new_panel(index) for index in sorted(self.plan.packed)}
        tiled = (self.plan.row_loop, self.plan.column_loop)
        outer = [
            index
            for index, loop in enumerate(self.nest.loops)
            if not loop.is_reduction and index not in tiled
        ]
        self._outer_loops(outer, {}, panels)

    def _outer_loops(
        self, loops: Sequence[int], position: Position, panels: dict[int, Access]
    ) -> None:
        if loops:
            with _loop(self.nest.loops[loops[0]].extent) as step:
                self._outer_loops(loops[1:], position | {loops[0]: step}, panels)
                scf.YieldOp([])
            return
        plan = self.plan
        extent = self.nest.loops[plan.column_loop].extent
        with _loop(-(-extent // plan.columns)) as tile:
            start = _tile_start(tile, plan.columns, extent)
            position = position | {plan.column_loop: start}
            for index, panel in panels.items():
                self._pack(self.nest.inputs[index], panel, position)
            self._rows(position, panels)
            scf.YieldOp([])

    def _rows(self, position: Position, panels: dict[int, Access]) -> None:
        row_loop = self.plan.row_loop
        extent = self.nest.loops[row_loop].extent
        with _loop(-(-extent // self.plan.rows)) as tile:
            start = _tile_start(tile, self.plan.rows, extent)
            self._tile(position | {row_loop: start}, panels)
            scf.YieldOp([])

    def _tile(self, position: Position, panels: dict[int, Access]) -> None:
        plan = self.plan
        inputs = [panels.get(index, each) for index, each in enumerate(self.nest.inputs)]
        initial = broadcast(self.initial, plan.lanes)
        reductions = [index for index, loop in enumerate(self.nest.loops) if loop.is_reduction]

        def step(position: Position, sums: Sequence[ir.Value]) -> list[ir.Value]:
            return self._step(inputs, position, sums)

        sums = self._reduce(reductions, position, [initial] * (plan.rows * plan.vectors), step)
        output = self.nest.output
        start = _offset(output, position)
        for number, value in enumerate(sums):
            row, vector = divmod(number, plan.vectors)
            distance = row * output.strides[plan.row_loop] + vector * plan.lanes
            place = _plus(start, distance)
            ir.Operation.create("vector.store", operands=[value, output.value, place])

    def _reduce(
        self,
        loops: Sequence[int],
        position: Position,
        sums: Sequence[ir.Value],
        step: Callable[[Position, Sequence[ir.Value]], list[ir.Value]],
    ) -> list[ir.Value]:
        if not loops:
            return step(position, sums)
        loop = _for(self.nest.loops[loops[0]].extent, sums)
        with ir.InsertionPoint(loop.body):
            inside = position | {loops[0]: loop.induction_variable}
            scf.YieldOp(self._reduce(loops[1:], inside, list(loop.inner_iter_args), step))
        return list(loop.results)

    def _step(
        self, inputs: Sequence[Access], position: Position, sums: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Combine the accumulators with one element of every reduction."""
        plan = self.plan
        loaded: dict[tuple[int, int, int], ir.Value] = {}
        # A panel holds the columns of this tile only.
        inside = {loop: value for loop, value in position.items() if loop != plan.column_loop}
        starts = [
            None if each.is_scalar else _offset(each, inside if index in plan.packed else position)
            for index, each in enumerate(inputs)
        ]

        def operand(index: int, row: int, vector: int) -> ir.Value:
            access = inputs[index]
            moves_by_row = access.strides[plan.row_loop]
            moves_by_column = access.strides[plan.column_loop]
            key = (index, row if moves_by_row else 0, vector if moves_by_column else 0)
            if key not in loaded:
                start = starts[index]
                distance = key[1] * moves_by_row + key[2] * plan.lanes
                loaded[key] = _load(access, start, distance, plan.lanes, bool(moves_by_column))
            return loaded[key]

        results = []
        for number, accumulator in enumerate(sums):
            row, vector = divmod(number, plan.vectors)
            arguments = [operand(index, row, vector) for index in range(len(inputs))]
            results.append(emit_on_vectors(self.nest.body, [*arguments, accumulator], plan.lanes))
        return results

    def _new_panel(self, index: int) -> Access:
        """Allocate a panel: for every step of the reductions one row of the tile's columns."""
        loops = self.nest.loops
        columns = self.plan.columns
        strides = [0] * len(loops)
        size = columns
        for loop in reversed(range(len(loops))):
            if loops[loop].is_reduction:
                strides[loop] = size
                size *= loops[loop].extent
        strides[self.plan.column_loop] = 1
        element = ir.MemRefType(self.nest.inputs[index].value.type).element_type
        return Access(allocate(size, element), 0, tuple(strides))

    def _pack(self, source: Access, panel: Access, position: Position) -> None:
        column = self.plan.column_loop
        reductions = [index for index, loop in enumerate(self.nest.loops) if loop.is_reduction]
        start = _offset(source, position)
        # The source is read in order: along the columns where they are closest together.
        loops = [*reductions, column]
        loops.sort(key=lambda loop: -abs(source.strides[loop]))
        inside = Access(panel.value, 0, panel.strides)

        def copy(remaining: Sequence[int], steps: Position) -> None:
            if not remaining:
                moved = replace(source, offset=0)
                value = _load_scalar(moved, _sum(start, _offset(moved, steps)))
                place = _offset(inside, steps)
                ir.Operation.create("memref.store", operands=[value, inside.value, place])
                return
            loop = remaining[0]
            extent = self.plan.columns if loop == column else self.nest.loops[loop].extent
            with _loop(extent) as step:
                copy(remaining[1:], steps | {loop: step})
                scf.YieldOp([])

        copy(loops, {})


def panel_elements(nest: LinearNest, plan: TilePlan) -> int:
    """Return the elements of one packed panel."""
    return plan.columns * prod(loop.extent for loop in nest.loops if loop.is_reduction)


class _loop(AbstractContextManager[ir.Value]):  # noqa: N801  (reads as a statement)
    """A loop from 0 to `extent`; code emitted inside becomes its body."""

    def __init__(self, extent: int) -> None:
        self._loop = _for(extent, [])
        self._point = ir.InsertionPoint(self._loop.body)

    def __enter__(self) -> ir.Value:
        self._point.__enter__()
        return self._loop.induction_variable

    def __exit__(self, *details: object) -> None:
        self._point.__exit__(*details)


def _for(extent: int, carried: Sequence[ir.Value]) -> scf.ForOp:
    return scf.ForOp(_index(0), _index(extent), _index(1), list(carried))


def _index(number: int) -> ir.Value:
    kind = ir.IndexType.get()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))


def _tile_start(tile: ir.Value, size: int, extent: int) -> ir.Value:
    """Return the first element of a tile; the last tile moves back to where it fits."""
    start = arith.muli(tile, _index(size))
    return start if extent % size == 0 else arith.minsi(start, _index(extent - size))


def _offset(access: Access, position: Position) -> ir.Value:
    total = _index(access.offset)
    for loop, value in position.items():
        if access.strides[loop]:
            total = arith.addi(total, arith.muli(value, _index(access.strides[loop])))
    return total


def _plus(start: ir.Value, distance: int) -> ir.Value:
    return arith.addi(start, _index(distance)) if distance else start


def _sum(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.addi(left, right)


def _load(
    access: Access, start: ir.Value | None, distance: int, lanes: int, is_vector: bool
) -> ir.Value:
    if start is None:
        return broadcast(access.value, lanes)
    place = _plus(start, distance)
    if not is_vector:
        return broadcast(_load_scalar(access, place), lanes)
    element = ir.MemRefType(access.value.type).element_type
    return emit("vector.load", [access.value, place], ir.VectorType.get([lanes], element))


def _load_scalar(access: Access, place: ir.Value) -> ir.Value:
    element = ir.MemRefType(access.value.type).element_type
    return emit("memref.load", [access.value, place], element)
