# SPDX-License-Identifier: MIT OR Apache-2.0
"""A product of a block of rows with panels of columns, as tiles that stay in registers.

One panel at a time meets all rows of the block, so that it is read from the first-level cache by
all tiles but the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.attention_operands import load_vector, store_vector
from xyntra.passes.lower.cpu.attention_plan import AttentionPlan
from xyntra.passes.lower.cpu.linear_nest import Access
from xyntra.passes.lower.cpu.loop_builder import carrying_loop, index, load, loop, plus
from xyntra.passes.lower.cpu.vector_body import broadcast

__all__ = ["Factor", "Panels", "Sums", "multiply"]

_UNROLL = 4


@dataclass(frozen=True)
class Factor:
    """The rows: a flat buffer, and how many elements lie between two rows."""

    memory: ir.Value
    row: int


@dataclass(frozen=True)
class Panels:
    """The columns: a flat buffer, where panels start in it and how far apart they are."""

    memory: ir.Value
    start: ir.Value
    panel: int


@dataclass(frozen=True)
class Sums:
    """What is computed: a flat buffer, its distance of rows, and whether it is added to."""

    memory: ir.Value
    row: int
    accumulates: bool = False


def multiply(
    plan: AttentionPlan,
    extents: tuple[int | ir.Value, int | ir.Value, int | ir.Value],
    left: Factor,
    right: Panels,
    out: Sums,
) -> None:
    """Emit out[row][column] (+)= sum over k of left[row][k] * right[column / panel][k][column].

    Args:
        plan: the sizes of a tile.
        extents: panels; tiles of `plan.tile_rows` rows below each other; steps of the sum, a
            multiple of 4 if known only at run time.
        left: what is broadcast.
        right: what is read as vectors, in panels of `plan.panel` columns.
        out: what is written.
    """
    panels, tiles, depth = extents
    with loop(panels) as panel:
        first = plus(right.start, arith.muli(panel, index(right.panel)))
        column = arith.muli(panel, index(plan.panel))
        with loop(tiles) as tile:
            row = arith.muli(tile, index(plan.tile_rows))
            _Tile(plan, left, Panels(right.memory, first, 0), out, row, column).emit(depth)


@dataclass(frozen=True)
class _Tile:
    plan: AttentionPlan
    left: Factor
    right: Panels
    out: Sums
    row: ir.Value
    column: ir.Value

    def emit(self, depth: int | ir.Value) -> None:
        first = plus(arith.muli(self.row, index(self.out.row)), self.column)
        places = [
            plus(first, index(row * self.out.row + lane))
            for row in range(self.plan.tile_rows)
            for lane in range(0, self.plan.panel, self.plan.lanes)
        ]
        sums = [self._initial(place) for place in places]
        whole, rest = _unrolled(depth)
        sums = self._steps(whole, index(0), _UNROLL, sums)
        if rest:
            sums = self._steps(rest, arith.muli(index(_UNROLL), _value(whole)), 1, sums)
        for value, place in zip(sums, places, strict=True):
            store_vector(value, self.out.memory, place)

    def _initial(self, place: ir.Value) -> ir.Value:
        if self.out.accumulates:
            return load_vector(self.out.memory, place, self.plan.lanes)
        return broadcast(arith.constant(ir.F32Type.get(), 0.0), self.plan.lanes)

    def _steps(
        self, count: int | ir.Value, first: ir.Value, unroll: int, sums: list[ir.Value]
    ) -> list[ir.Value]:
        built = carrying_loop(count, sums)
        with ir.InsertionPoint(built.body):
            step = plus(first, arith.muli(built.induction_variable, index(unroll)))
            carried: Sequence[ir.Value] = list(built.inner_iter_args)
            for number in range(unroll):
                carried = self._step(step, number, carried)
            scf.YieldOp(carried)
        return list(built.results)

    def _step(self, step: ir.Value, number: int, sums: Sequence[ir.Value]) -> list[ir.Value]:
        plan, contract = self.plan, arith.FastMathFlags.contract
        line = arith.muli(step, index(plan.panel))
        columns = [
            load_vector(
                self.right.memory,
                plus(self.right.start, line, index(number * plan.panel + lane)),
                plan.lanes,
            )
            for lane in range(0, plan.panel, plan.lanes)
        ]
        corner = plus(arith.muli(self.row, index(self.left.row)), step)
        results = []
        for row in range(plan.tile_rows):
            place = plus(corner, index(row * self.left.row + number))
            scalar = load(Access(self.left.memory, 0, ()), place)
            wide = broadcast(scalar, plan.lanes)
            for vector, column in enumerate(columns):
                product = arith.mulf(wide, column, fastmath=contract)
                total = sums[row * len(columns) + vector]
                results.append(arith.addf(total, product, fastmath=contract))
        return results


def _unrolled(depth: int | ir.Value) -> tuple[int | ir.Value, int]:
    """How many times `_UNROLL` steps are taken, and how many single ones after them."""
    if isinstance(depth, int):
        return divmod(depth, _UNROLL)
    return arith.divui(depth, index(_UNROLL)), 0


def _value(extent: int | ir.Value) -> ir.Value:
    return index(extent) if isinstance(extent, int) else extent
