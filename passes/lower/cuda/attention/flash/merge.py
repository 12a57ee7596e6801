# SPDX-License-Identifier: MIT OR Apache-2.0
"""The end of a block: results of its warps are put together, divided and written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.passes.analysis.sizes.size import always_at_most
from xyntra.passes.lower.cuda.attention.flash.softmax import ThreadRowState, unit
from xyntra.passes.lower.cuda.attention.machine import (
    across,
    exp2,
    load_shared,
    packed,
    packed_pairs,
    start_address,
    store_global,
    store_shared,
)
from xyntra.passes.lower.cuda.attention.plan import FlashPlan
from xyntra.passes.lower.gpu.attention.layout import FragmentLayout
from xyntra.passes.lower.gpu.attention.problem import Located, Outer, Problem
from xyntra.passes.lower.gpu.attention.values import (
    Division,
    Registers,
    finite,
    fused,
    larger,
    real,
    when,
)
from xyntra.passes.lower.gpu.emit.thread_grid import barrier, strided_loop

_ITEM = 4
_VECTOR_BYTES = 16


@dataclass(frozen=True)
class Merge:
    """Writes the rows of a block.

    Attributes:
        problem: the attention.
        plan: sizes of the block.
        shared: address of the block's shared memory, which nothing else needs any more.
        outer: the batch and the head.
        first: the block's first query, int32.
    """

    problem: Problem
    plan: FlashPlan
    shared: Scalar
    outer: Outer
    first: Scalar

    def leave(
        self, layout: FragmentLayout, state: ThreadRowState, row: Scalar, key_warp: Scalar
    ) -> None:
        """Put a warp's results where `collect` finds them.

        Args:
            layout: of the warp.
            state: of the thread.
            row: the thread's first row within the block, uint32.
            key_warp: the number of the warp among those that share the rows.
        """
        line = key_warp * self.plan.rows + row
        column = layout.column.cast("uint32")
        start = self.shared + (line * self.plan.sum_pitch + column) * _ITEM
        totals = self.shared + self.plan.total_start + line * (2 * _ITEM)
        for place, distance in enumerate(layout.rows):
            target = start + distance * self.plan.sum_pitch * _ITEM
            for k in range(0, len(layout.columns), layout.pair):
                values = state.accumulators[place][k : k + layout.pair]
                store_shared(target + layout.columns[k] * _ITEM, values)
            total = across(state.total[place], layout.lanes, lambda a, b: a + b)
            store_shared(totals + distance * 2 * _ITEM, [state.top[place], total])

    @property
    def chunk(self) -> int:
        """Elements of the result that a thread writes at a time."""
        return _VECTOR_BYTES // self.problem.result.item_bytes

    @property
    def chunks(self) -> int:
        """Those of a row."""
        return -(-self.problem.sizes[5] // self.chunk)

    @property
    def rows(self) -> int:
        """Rows of the block that there may be."""
        most, queries = self.plan.rows, self.problem.sizes[2]
        return queries if always_at_most(queries, most) else most

    def collect(self) -> None:
        """Write the block's rows, once all warps have left theirs."""
        barrier()
        chunks = self.chunks

        def write(place: ir.Value) -> tuple[()]:
            flat = Scalar(place, "uint32")
            self.write(flat / chunks, flat % chunks)
            return ()

        strided_loop(self.rows * chunks, self.plan.threads, [], write)

    def write(self, row: Scalar, number_: Scalar) -> None:
        """Write chunk `number_` of a row of the block, both uint32, if there is such a query."""
        query = self.first + row.cast("int32")
        with when(query < self.problem.sizes[2]):
            self._store(self.combined(row, number_ * self.chunk), query, number_, self.chunk)

    def combined(self, row: Scalar, column: Scalar) -> Registers:
        """Contiguous elements of a row of the result."""
        factors, _, total = self.factors(row)
        divide = Division(self.problem.op.masked_rows, total)
        return [divide(each) for each in self.added(row, column, factors)]

    def added(self, row: Scalar, column: Scalar, factors: Registers) -> Registers:
        """Neighbouring sums of the warps, each times its factor, added up in order."""
        lines = (
            self.line(row + warp * self.plan.rows, column) for warp in range(self.plan.key_warps)
        )
        parts = (
            [each for k in range(0, self.chunk, 4) for each in load_shared(start + k * _ITEM, 4)]
            for start in lines
        )
        return next(parts) if len(factors) == 1 else added_up(parts, factors)

    def line(self, line: Scalar, column: Scalar) -> Scalar:
        """The address of a column of a warp's row, by the number of both, uint32."""
        return self.shared + (line * self.plan.sum_pitch + column) * _ITEM

    def factors(self, row: Scalar) -> tuple[Registers, Scalar, Scalar]:
        """Return the factors of the warps' accumulators of a row, its maximum and its total."""
        parts = []
        for warp in range(self.plan.key_warps):
            line = row + warp * self.plan.rows
            parts.append(load_shared(self.shared + self.plan.total_start + line * (2 * _ITEM), 2))
        if len(parts) == 1:
            return [real(1.0)], parts[0][0], parts[0][1]
        return common_factors(self.problem, parts)

    def _store(self, values: Registers, query: Scalar, number_: Scalar, chunk: int) -> None:
        result, size = self.problem.result, self.problem.sizes[5]
        down, along = result.strides
        first = query.cast("uint32").cast("uint64") * down
        place = first + (number_ * chunk).cast("uint64") * along
        if size % chunk == 0 and result.access_bytes == _VECTOR_BYTES:
            address = start_address(result, self.outer) + place * result.item_bytes
            store_global(address, _words(values, result.dtype))
            return
        start = result.start(self.outer) + place
        for k, value in enumerate(values):
            with when(number_ * chunk + k < size):
                _store_one(result, start + k * along, value)


def common_factors(
    problem: Problem, parts: Sequence[Registers]
) -> tuple[Registers, Scalar, Scalar]:
    """Return what sums of parts of a row are multiplied by, the row's maximum and its total.

    Args:
        problem: whose row it is.
        parts: of each its maximum and its total.
    """
    largest = reduce(larger, [top for top, _ in parts])
    reference = finite(largest)
    factors = [exp2((top - reference) * unit(problem)) for top, _ in parts]
    totals = [total * factor for (_, total), factor in zip(parts, factors, strict=True)]
    return factors, largest, reduce(lambda a, b: a + b, totals)


def added_up(parts: Iterable[Registers], factors: Registers) -> Registers:
    """Sums of parts of a row, each times its factor, added up in order."""
    accumulators: Registers = []
    for found, factor in zip(parts, factors, strict=True):
        if accumulators:
            accumulators = [fused(a, factor, b) for a, b in zip(found, accumulators, strict=True)]
        else:
            accumulators = [each * factor for each in found]
    return accumulators


def _words(values: Registers, dtype: str) -> Registers:
    if dtype == "float32":
        return values
    return packed_pairs(values, dtype)


def _store_one(result: Located, place: Scalar, value: Scalar) -> None:
    if result.dtype != "float32":
        word = packed(value, real(0.0), result.dtype)
        bits = arith.trunci(ir.IntegerType.get_signless(16), word.value)
        value = Scalar(arith.bitcast(_element(result), bits), result.dtype)
    operands = [value.value, result.matrix.memory, place.cast("index").value]
    ir.Operation.create("memref.store", operands=operands)


def _element(result: Located) -> ir.Type:
    return ir.MemRefType(result.matrix.memory.type).element_type
