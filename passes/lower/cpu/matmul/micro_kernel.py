# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits the reduction of one register tile: accumulators that stay in registers all the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    offset,
    plus,
)
from xyntra.passes.lower.loops.vector_body import broadcast, emit_on_vectors

_Reader = Callable[[int, int], ir.Value]


@dataclass(frozen=True)
class TileOperand:
    """An input as one tile of columns reads it.

    Attributes:
        access: the input, or its panels.
        start: where the columns start.
        column: how far apart they are, 0 to 2.
    """

    access: BufferOperand
    start: ir.Value
    column: int


@dataclass(frozen=True)
class Steps:
    """A part of the outermost reduction: where it starts, and how many steps it has."""

    first: ir.Value
    count: ir.Value


@dataclass(frozen=True)
class MicroKernel:
    """The reduction of a tile.

    Attributes:
        nest: the contraction.
        plan: its tiles.
    """

    nest: LinearNest
    plan: TilePlan

    @property
    def accumulators(self) -> int:
        """Return how many vectors hold a tile."""
        return self.plan.rows * self.plan.vectors

    def emit(
        self,
        position: Position,
        operands: Sequence[TileOperand],
        initial: Sequence[ir.Value],
        steps: Steps | None = None,
    ) -> list[ir.Value]:
        """Emit the loops of the reduction; returns the accumulators, row by row.

        Args:
            position: where the other loops stand, that of the rows at the tile's first row.
            operands: the inputs.
            initial: what the accumulators start from.
            steps: the part of the outermost reduction to do; None for all of it.
        """
        return self._reduce(self.nest.reductions, position, operands, initial, steps)

    def _reduce(
        self,
        loops: Sequence[int],
        position: Position,
        operands: Sequence[TileOperand],
        accumulators: Sequence[ir.Value],
        steps: Steps | None,
    ) -> list[ir.Value]:
        if not loops:
            return self._step(operands, position, accumulators)
        extent = self.nest.loops[loops[0]].extent if steps is None else steps.count
        built = carrying_loop(extent, accumulators)
        with ir.InsertionPoint(built.body):
            step = built.induction_variable
            inside = position | {
                loops[0]: step if steps is None else integers.addi(steps.first, step)
            }
            accumulators = list(built.inner_iter_args)
            scf.YieldOp(self._reduce(loops[1:], inside, operands, accumulators, None))
        return list(built.results)

    def _step(
        self, operands: Sequence[TileOperand], position: Position, accumulators: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Combine the accumulators with one element of every reduction."""
        readers = [self._reader(operand, position) for operand in operands]
        results = []
        for number, accumulator in enumerate(accumulators):
            row, vector = divmod(number, self.plan.vectors)
            arguments = [read(row, vector) for read in readers]
            results.append(
                emit_on_vectors(self.nest.body, [*arguments, accumulator], self.plan.lanes)
            )
        return results

    def _reader(self, operand: TileOperand, position: Position) -> _Reader:
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


def _moved(start: ir.Value, distance: int) -> ir.Value:
    return integers.addi(start, index(distance)) if distance else start


def _load(access: BufferOperand, place: ir.Value, lanes: int, column: int) -> ir.Value:
    if column == 0:
        return broadcast(load(access, place), lanes)
    kind = ir.VectorType.get([lanes], access.element_type)
    low = emit("vector.load", [access.value, place], kind)
    if column == 1:
        return low
    # The second half starts one element early, so as not to read behind the last one.
    high = emit("vector.load", [access.value, _moved(place, lanes - 1)], kind)
    chosen = [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)]
    return emit("vector.shuffle", [low, high], kind, mask=ir.DenseI64ArrayAttr.get(chosen))
