# SPDX-License-Identifier: MIT OR Apache-2.0
"""A product of a block of rows with panels of columns, as tiles that stay in registers.

One panel at a time meets all rows of the block, so that it is read from the first-level cache by
all tiles but the first. Tiles are as high as registers allow, or one row less, so that few rows are
computed in vain; where that does not come out even, the last tiles overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.attention.plan import AttentionPlan
from xyntra.passes.lower.kernels.attention_operands import load_vector, store_vector
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import carrying_loop, index, load, loop, plus
from xyntra.passes.lower.loops.vector_body import broadcast

__all__ = ["STEPS", "KeyPanels", "RowOperand", "Sums", "multiply"]

STEPS = 4
"""Of a sum with few accumulators that are taken at a time."""
_MANY_SUMS = 16  # with which counting iterations costs nothing, and unrolling compile time alone

Finish = Callable[[ir.Value], Callable[[ir.Value], ir.Value]]
"""Given a row, what becomes of each of its vectors before they are stored."""


@dataclass(frozen=True)
class RowOperand:
    """The rows: a flat buffer, elements between two rows, and where the first one starts."""

    memory: ir.Value
    row: int
    start: ir.Value | None = None


@dataclass(frozen=True)
class KeyPanels:
    """The columns: a flat buffer, where panels start in it and how far apart they are.

    `row` is how far apart their rows are; None where they are as long as a panel is wide.
    """

    memory: ir.Value
    start: ir.Value
    panel: int
    row: int | None = None


@dataclass(frozen=True)
class Sums:
    """The accumulators of a product, and where they are stored.

    Attributes:
        memory: a flat buffer.
        row: elements between two rows.
        accumulates: whether it is added to.
        start: where the first row starts.
        finish: what happens to rows before they are stored, if anything.
    """

    memory: ir.Value
    row: int
    accumulates: bool = False
    start: ir.Value | None = None
    finish: Finish | None = None


def multiply(
    plan: AttentionPlan,
    extents: tuple[int | ir.Value, int | ir.Value, int | ir.Value],
    left: RowOperand,
    right: KeyPanels,
    out: Sums,
) -> None:
    """Emit out[row][column] (+)= sum over k of left[row][k] * right[column / panel][k][column].

    Rows beyond the last one of a block are touched where `plan.has_full_tiles` does not hold, or
    where sums are added to; they are at most as many as fill up `plan.rows`.

    Args:
        plan: the sizes of a tile.
        extents: panels; rows; steps of the sum, a multiple of `STEPS` if they are known only at run
            time and `right` is packed.
        left: what is broadcast.
        right: what is read as vectors, in panels of `plan.panel` columns.
        out: what is written.
    """
    panels, rows, depth = extents
    heights = _heights(plan, _value(rows))
    with loop(panels) as panel:
        first = plus(right.start, integers.muli(panel, index(right.panel)))
        column = integers.muli(panel, index(plan.panel))
        top = index(0)
        for height, count in heights:
            with loop(count) as tile:
                row = plus(top, integers.muli(tile, index(height)))
                if plan.has_full_tiles and not out.accumulates:
                    row = integers.minsi(row, integers.subi(_value(rows), index(height)))
                panel_from = replace(right, start=first)
                _Tile(plan, height, left, panel_from, out, row, column).emit(depth)
            top = plus(top, integers.muli(count, index(height)))


def _heights(plan: AttentionPlan, rows: ir.Value) -> list[tuple[int, ir.Value]]:
    """Heights of tiles, and how many there are of each."""
    most = plan.tile_rows
    tiles = integers.ceildivui(rows, index(most))
    if plan.is_even:
        return [(most, tiles)]
    missing = integers.subi(integers.muli(tiles, index(most)), rows)
    lower = integers.minui(missing, tiles)
    return [(most, integers.subi(tiles, lower)), (most - 1, lower)]


@dataclass(frozen=True)
class _Tile:
    plan: AttentionPlan
    height: int
    left: RowOperand
    right: KeyPanels
    out: Sums
    row: ir.Value
    column: ir.Value

    def emit(self, depth: int | ir.Value) -> None:
        first = plus(_line(self.row, self.out), self.column)
        places = [
            plus(first, index(row * self.out.row + lane))
            for row in range(self.height)
            for lane in range(0, self.plan.panel, self.plan.lanes)
        ]
        sums = [self._initial(place) for place in places]
        together = 1 if len(sums) >= _MANY_SUMS else STEPS
        whole, rest = _split(depth, together, is_packed=self.right.row is None)
        sums = self._steps(whole, index(0), together, sums)
        if not isinstance(rest, int) or rest:
            sums = self._steps(rest, integers.muli(index(together), _value(whole)), 1, sums)
        for value, place in zip(self._finished(sums), places, strict=True):
            store_vector(value, self.out.memory, place)

    def _finished(self, sums: list[ir.Value]) -> list[ir.Value]:
        if self.out.finish is None:
            return sums
        vectors = len(sums) // self.height
        finished = []
        for row in range(self.height):
            change = self.out.finish(plus(self.row, index(row)))
            finished += [change(value) for value in sums[row * vectors : (row + 1) * vectors]]
        return finished

    def _initial(self, place: ir.Value) -> ir.Value:
        if self.out.accumulates:
            return load_vector(self.out.memory, place, self.plan.lanes)
        return broadcast(arith.constant(ir.F32Type.get(), 0.0), self.plan.lanes)

    def _steps(
        self, count: int | ir.Value, first: ir.Value, unroll: int, sums: list[ir.Value]
    ) -> list[ir.Value]:
        built = carrying_loop(count, sums)
        with ir.InsertionPoint(built.body):
            step = plus(first, integers.muli(built.induction_variable, index(unroll)))
            carried: Sequence[ir.Value] = list(built.inner_iter_args)
            for number in range(unroll):
                carried = self._step(step, number, carried)
            scf.YieldOp(carried)
        return list(built.results)

    def _step(self, step: ir.Value, number: int, sums: Sequence[ir.Value]) -> list[ir.Value]:
        plan, contract = self.plan, arith.FastMathFlags.contract
        between = plan.panel if self.right.row is None else self.right.row
        line = integers.muli(step, index(between))
        columns = [
            load_vector(
                self.right.memory,
                plus(self.right.start, line, index(number * between + lane)),
                plan.lanes,
            )
            for lane in range(0, plan.panel, plan.lanes)
        ]
        corner = plus(_line(self.row, self.left), step)
        results = []
        for row in range(self.height):
            place = plus(corner, index(row * self.left.row + number))
            scalar = load(BufferOperand(self.left.memory, 0, ()), place)
            wide = broadcast(scalar, plan.lanes)
            for vector, column in enumerate(columns):
                product = arith.mulf(wide, column, fastmath=contract)
                total = sums[row * len(columns) + vector]
                results.append(arith.addf(total, product, fastmath=contract))
        return results


def _line(row: ir.Value, matrix: RowOperand | Sums) -> ir.Value:
    """Return where a row starts."""
    place = integers.muli(row, index(matrix.row))
    return place if matrix.start is None else plus(matrix.start, place)


def _split(
    depth: int | ir.Value, together: int, *, is_packed: bool
) -> tuple[int | ir.Value, int | ir.Value]:
    """Return how many times `together` steps are taken, and how many single ones after them."""
    if isinstance(depth, int):
        return divmod(depth, together)
    if together == 1:
        return depth, 0
    rest = 0 if is_packed else integers.remui(depth, index(together))
    return integers.divui(depth, index(together)), rest


def _value(extent: int | ir.Value) -> ir.Value:
    return index(extent) if isinstance(extent, int) else extent
