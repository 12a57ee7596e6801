# SPDX-License-Identifier: MIT OR Apache-2.0
"""Partial row statistics that a contraction's epilogue writes: sums over 32 contiguous columns.

Whoever reads the result can put the parts of a row together instead of reading all of it: a layer
norm needs sums and sums of squared deviations (Chan, Golub and LeVeque, "Updating formulae and a
pairwise algorithm for computing sample variances", 1979). Neighbouring threads hold the elements;
they add up what each has, and then each other's, in an order that the layout alone decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.emit.block_reduce import butterfly
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, i32, thread_number, when
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import index, plus, store
from xyntra.passes.lower.loops.memrefs import root

PARTIAL_COLUMNS = 32
"""Columns of one sum."""


@dataclass(frozen=True)
class Partial:
    """One number for every row and 32 columns.

    Attributes:
        nest: a reduction over the columns, of elements of the result and of other partials.
        combiner: how it adds up.
        initial: what it starts from.
        output: where it goes.
        row_step: elements of the output from one row to the next.
        column_step: likewise from 32 columns to the next.
    """

    nest: LinearNest
    combiner: Combiner
    initial: ir.Value
    output: BufferOperand
    row_step: int
    column_step: int


@dataclass(frozen=True)
class RowPartials:
    """Partial reductions that a matmul writes for every row and 32 columns.

    Attributes:
        memory: the result that is read, as it is stored.
        partials: in order; each may read those before it.
    """

    memory: ir.Value
    partials: tuple[Partial, ...]

    def number(self, outputs: Sequence[BufferOperand]) -> int:
        """Return which of `outputs` is the result that is read."""
        return [root(each.value) for each in outputs].index(self.memory)

    def reduce(self, elements: Sequence[ir.Value], threads: int, warp: int) -> list[ir.Value]:
        """Return the partials, in every thread that has a share of the same 32 columns.

        All threads of a warp must be here.

        Args:
            elements: of the result that this thread has.
            threads: adjacent ones that have the others, a power of two.
            warp: threads of a warp.
        """
        found: dict[ir.Value, ir.Value] = {}
        for each in self.partials:
            found[root(each.output.value)] = self._reduce(each, elements, (threads, warp), found)
        return list(found.values())

    def _reduce(
        self,
        partial: Partial,
        elements: Sequence[ir.Value],
        sharing: tuple[int, int],
        found: dict[ir.Value, ir.Value],
    ) -> ir.Value:
        threads, warp = sharing
        combiner = partial.combiner
        total = combiner.start()
        for element in elements:
            inputs = [
                each.value if each.is_scalar else found.get(root(each.value), element)
                for each in partial.nest.inputs
            ]
            (total,) = emit_on_scalars(partial.nest.body, [*inputs, total])
        distance = 1
        while distance < threads:
            total = combiner.combine(total, butterfly(total, distance, warp))
            distance *= 2
        return combiner.combine(partial.initial, total)

    def write(
        self, values: Sequence[ir.Value], row: ir.Value, column: ir.Value, inside: ir.Value
    ) -> None:
        """Store partials, of `row` and the 32 columns with `column` among them, where `inside`."""
        group = as_index(arith.divui(column, i32(PARTIAL_COLUMNS)))
        row = as_index(row)
        with when(inside):
            for value, each in zip(values, self.partials, strict=True):
                place = plus(
                    index(each.output.offset),
                    arith.muli(row, index(each.row_step)),
                    arith.muli(group, index(each.column_step)),
                )
                store(value, each.output, place)


def elements_of(vector: ir.Value) -> list[ir.Value]:
    """Return the elements of a vector."""
    kind = ir.VectorType(vector.type)
    place = ir.DenseI64ArrayAttr.get
    return [
        emit("vector.extract", [vector], kind.element_type, static_position=place([number]))
        for number in range(kind.shape[0])
    ]


def leads(threads: int) -> ir.Value:
    """Tell whether a thread is the first of `threads` neighbours."""
    own = arith.andi(thread_number(), i32(threads - 1))
    return arith.cmpi(arith.CmpIPredicate.eq, own, i32(0))
