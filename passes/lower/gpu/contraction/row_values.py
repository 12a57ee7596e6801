# SPDX-License-Identifier: MIT OR Apache-2.0
"""Values of each row that an epilogue reads, such as the mean and deviation of a layer norm.

A launch computes those of a tile's rows by itself: threads take rows. Where there are more threads
than rows, neighbours share the reductions of each: few loads in a row arrive sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.emit.block_reduce import butterfly
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, i32
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    offset,
    plus,
    store,
)
from xyntra.passes.lower.loops.memrefs import root

WORD = 4
"""Bytes of a value."""
_AT_ONCE = 32  # steps of a reduction whose loads are on their way together

Held = dict[ir.Value, ir.Value]
"""What stands for the elements of private buffers at one row, by the buffer."""


@dataclass(frozen=True)
class Lanes:
    """Neighbouring threads that share the reductions of a row.

    Attributes:
        number: of this thread among them, an i32.
        count: how many there are, a power of two.
        warp: threads of a warp.
    """

    number: ir.Value
    count: int
    warp: int


@dataclass(frozen=True)
class RowValueLoops:
    """Loops that compute one f32 for each row of an output, and for that read others.

    Attributes:
        nests: in order; each has at most one parallel loop, that of the rows.
        buffers: memory that holds the values which the epilogue reads.
        rows: of the output.
        results: how each buffer is written where it is a result of the kernel; None where it is
            not needed behind it.
    """

    nests: tuple[LinearNest, ...]
    buffers: tuple[ir.Value, ...]
    rows: int
    results: tuple[BufferOperand | None, ...]

    def table_bytes(self, rows: int) -> int:
        """Return how much shared memory the values of `rows` rows take."""
        return rows * len(self.buffers) * WORD

    def slot(self, access: BufferOperand) -> int | None:
        """Return which of the values `access` is; None for other operands."""
        if access.is_scalar:
            return None
        memory = root(access.value)
        return self.buffers.index(memory) if memory in self.buffers else None

    def of_row(self, row: ir.Value, lanes: Lanes) -> list[ir.Value]:
        """Emit the values of a row, an index, in each of the threads that share it."""
        held: Held = {}
        for nest in self.nests:
            _evaluate(nest, row, lanes, held)
        return [held[buffer] for buffer in self.buffers]

    def write_results(self, row: ir.Value, values: Sequence[ir.Value]) -> None:
        """Write those of a row's values that are results, as blocks of other columns do."""
        for access, value in zip(self.results, values, strict=True):
            if access is not None:
                place = dict.fromkeys(range(len(access.strides)), row)
                store(value, access, offset(access, place))


def _evaluate(nest: LinearNest, row: ir.Value, lanes: Lanes, held: Held) -> None:
    """Emit one row of `nest`; `held` is what private buffers hold, before and after."""
    position = {n: row for n, loop in enumerate(nest.loops) if not loop.is_reduction}
    outputs = [root(each.value) for each in nest.outputs]
    carried = [held[each] for each in outputs if each in held]
    if nest.reductions:
        results = _reduce(nest, position, lanes, held, carried)
    else:
        inputs = [_input(each, position, held) for each in nest.inputs]
        results = emit_on_scalars(nest.body, [*inputs, *carried])
    held.update(zip(outputs, results, strict=True))


def _reduce(
    nest: LinearNest,
    position: Position,
    lanes: Lanes,
    held: Held,
    carried: Sequence[ir.Value],
) -> list[ir.Value]:
    """Emit the reduction of one row, which begins with `carried`; returns what there is then."""
    (step,) = nest.reductions
    combiners = Combiner.of_all(nest)
    extent = nest.loops[step].extent
    sharing = gcd(lanes.count, extent) if combiners else 1
    number = as_index(arith.andi(lanes.number, i32(sharing - 1)))
    extent //= sharing
    count = next(each for each in range(min(extent, _AT_ONCE), 0, -1) if extent % each == 0)
    is_shared = sharing > 1 and combiners is not None
    starts = [each.start() for each in combiners or []] if is_shared else carried
    loop = carrying_loop(extent // count, starts)
    with ir.InsertionPoint(loop.body):
        first = arith.muli(loop.induction_variable, index(count * sharing))
        places = [plus(first, number, index(each * sharing)) for each in range(count)]
        lines = [
            [_input(each, position | {step: place}, held) for each in nest.inputs]
            for place in places
        ]
        values = list(loop.inner_iter_args)
        for line in lines:
            values = emit_on_scalars(nest.body, [*line, *values])
        scf.YieldOp(values)
    totals = list(loop.results)
    if combiners is None or not is_shared:
        return totals
    distance = 1
    while distance < sharing:
        totals = [
            c.combine(v, butterfly(v, distance, lanes.warp))
            for c, v in zip(combiners, totals, strict=True)
        ]
        distance *= 2
    return [c.combine(a, b) for c, a, b in zip(combiners, carried, totals, strict=True)]


def _input(access: BufferOperand, position: Position, held: Held) -> ir.Value:
    if access.is_scalar:
        return access.value
    memory = root(access.value)
    return held[memory] if memory in held else load(access, offset(access, position))


def accesses_of(nests: Sequence[LinearNest]) -> Iterator[BufferOperand]:
    """Yield the operands of all nests that lie in memory."""
    for nest in nests:
        for access in nest.accesses:
            if not access.is_scalar:
                yield access
