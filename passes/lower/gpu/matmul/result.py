# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes what a thread has computed, after what follows the contraction element by element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars
from xyntra.passes.lower.gpu.emit.thread_grid import (
    as_index,
    barrier,
    delinearize,
    i32,
    strided_loop,
    when,
)
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.gpu.matmul.roles import Roles, extents, size
from xyntra.passes.lower.gpu.matmul.tile_shape import VECTOR, TileShape
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import Position, load, offset, store


@dataclass(frozen=True)
class Result:
    """Writer of the results of a contraction.

    Values pass through shared memory, one row of every thread at a time: neighbouring threads then
    write contiguous elements, and the code of the epilogue is there once a row of a thread. What
    several teams have computed meets there, always in the same order.

    Attributes:
        nest: the contraction.
        roles: which of its loops are batch, M, N and K.
        epilogue: what happens to each element before it is stored, if anything.
        shape: of the tiles.
        team: number of the thread's, an i32.
        thread: number in its team, an i32.
        buffer: flat shared memory for one row of every thread.
        compact: whether one loop writes all rows, with the code of one.
    """

    nest: LinearNest
    roles: Roles
    epilogue: Epilogue | None
    shape: TileShape
    team: ir.Value
    thread: ir.Value
    buffer: ir.Value
    compact: bool = False

    @staticmethod
    def elements(shape: TileShape) -> int:
        """Return how many elements `buffer` has."""
        return shape.thread_grid[0] * shape.columns * shape.teams

    def write(self, tile: TilePosition, values: Sequence[Sequence[ir.Value]]) -> None:
        """Store what the threads have computed, where it is inside of the output.

        Args:
            tile: where the tile lies.
            values: the thread's, by row and column.
        """
        if self.compact:
            self._write_in_loop(tile, values)
            return
        starts = self.shape.offsets(columns=False)
        rows = [start + number for start in starts for number in range(VECTOR)]
        for number, (row, line) in enumerate(zip(rows, values, strict=True)):
            if number:
                barrier()  # the row before has been read by all
            self._exchange(line)
            barrier()
            self._write_row(tile, arith.addi(tile.row, i32(row)))

    def _write_in_loop(self, tile: TilePosition, values: Sequence[Sequence[ir.Value]]) -> None:
        apart = self.shape.rows * VECTOR // self.shape.thread_rows
        loop = scf.ForOp(i32(0), i32(self.shape.thread_rows), i32(1))
        with ir.InsertionPoint(loop.body):
            number = loop.induction_variable
            line = list(values[0])
            for row, others in enumerate(values[1:], 1):
                is_row = arith.cmpi(arith.CmpIPredicate.eq, number, i32(row))
                pairs = zip(others, line, strict=True)
                line = [arith.select(is_row, mine, before) for mine, before in pairs]
            barrier()  # the row before has been read by all
            self._exchange(line)
            barrier()
            vector, inside = arith.divui(number, i32(VECTOR)), arith.remui(number, i32(VECTOR))
            row = arith.addi(arith.muli(vector, i32(apart)), inside)
            self._write_row(tile, arith.addi(tile.row, row))
            scf.YieldOp([])

    def _exchange(self, line: Sequence[ir.Value]) -> None:
        across = i32(self.shape.thread_grid[1])
        own = arith.muli(arith.divui(self.thread, across), i32(self.shape.columns))
        own = arith.addi(own, arith.muli(arith.remui(self.thread, across), i32(VECTOR)))
        own = arith.addi(own, arith.muli(self.team, i32(self._row)))
        starts = self.shape.offsets(columns=True)
        places = [start + number for start in starts for number in range(VECTOR)]
        for place, value in zip(places, line, strict=True):
            target = as_index(arith.addi(own, i32(place)))
            ir.Operation.create("memref.store", operands=[value, self.buffer, target])

    def _write_row(self, tile: TilePosition, first: ir.Value) -> None:
        """Write the exchanged rows, which lie apart by as many as a thread takes at once."""
        columns = i32(self.shape.columns)

        def element(number: ir.Value) -> Sequence[ir.Value]:
            row = arith.addi(first, arith.muli(arith.divui(number, columns), i32(VECTOR)))
            column = arith.addi(tile.column, arith.remui(number, columns))
            inside = arith.andi(
                _is_below(row, size(self.nest, self.roles.rows)),
                _is_below(column, size(self.nest, self.roles.columns)),
            )
            with when(inside):
                place = tile.position | delinearize(row, extents(self.nest, self.roles.rows))
                place |= delinearize(column, extents(self.nest, self.roles.columns))
                store_element(self._total(number), self.nest.outputs[0], self.epilogue, place)
            return []

        strided_loop(self._row, self.shape.block, [], element)

    @property
    def _row(self) -> int:
        """Elements of one row of every thread of a team."""
        return self.elements(self.shape) // self.shape.teams

    def _total(self, number: ir.Value) -> ir.Value:
        """Return element `number` of the exchanged rows, all teams together."""
        kind = ir.MemRefType(self.buffer.type).element_type
        places = [arith.addi(number, i32(team * self._row)) for team in range(self.shape.teams)]
        parts = [emit("memref.load", [self.buffer, as_index(place)], kind) for place in places]
        combiner = Combiner.of(self.nest)
        return parts[0] if combiner is None else reduce(combiner.combine, parts)


def store_element(
    value: ir.Value, output: BufferOperand, epilogue: Epilogue | None, position: Position
) -> None:
    """Store one element of a contraction, after what follows.

    Args:
        value: what the contraction has computed.
        output: where it goes if nothing follows.
        epilogue: what happens to it before it is stored, if anything.
        position: of the element.
    """
    if epilogue is None:
        store(value, output, offset(output, position))
        return
    inputs = [_operand(each, value, position) for each in epilogue.inputs]
    results = emit_on_scalars(epilogue.body, inputs)
    if epilogue.result is not None:
        store(value, epilogue.result, offset(epilogue.result, position))
    for result, target in zip(results, epilogue.outputs, strict=True):
        store(result, target, offset(target, position))


def _operand(access: BufferOperand | None, value: ir.Value, position: Position) -> ir.Value:
    if access is None:
        return value
    return access.value if access.is_scalar else load(access, offset(access, position))


def _is_below(number: ir.Value, limit: int) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, number, i32(limit))
