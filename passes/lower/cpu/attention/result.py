# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of an attention's result: sums of weighted values over the sums of weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import QUERY, VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.attention.plan import AttentionPlan
from xyntra.passes.lower.cpu.attention.softmax import BlockRowState, sum_of_lanes
from xyntra.passes.lower.kernels.attention_operands import Matrix, Outer, load_vector, store_vector
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import index, load, loop, plus, store
from xyntra.passes.lower.loops.vector_body import broadcast

__all__ = ["Quotients", "write_row"]


def write_row(
    op: Attention,
    plan: AttentionPlan,
    result: Matrix,
    outer: Outer,
    query: ir.Value,
    row: ir.Value,
    state: BlockRowState,
) -> None:
    """Divide the sums of a row by its total and write them.

    Args:
        op: the attention.
        plan: its blocks.
        result: where it is written.
        outer: the batch and the head.
        query: the number of the row in the result.
        row: its number in the block.
        state: sums and totals of the block.
    """
    divide = Quotients(op, plan, state)(row)
    sums = state.sums
    if sums is None:
        raise ValueError("there are no sums in memory")
    start = plus(result.start(outer), integers.muli(query, index(result.stride(QUERY))))
    line = integers.muli(row, index(state.columns))
    size, step = op.sizes[VALUE_SIZE], result.stride(VALUE_SIZE)
    whole = size // plan.lanes if step == 1 else 0
    if whole:
        with loop(whole) as number:
            column = integers.muli(number, index(plan.lanes))
            value = load_vector(sums, plus(line, column), plan.lanes)
            store_vector(divide(value), result.memory, plus(start, column))
    if size == whole * plan.lanes:
        return
    with loop(size - whole * plan.lanes) as number:
        column = plus(index(whole * plan.lanes), number)
        value = load(BufferOperand(sums, 0, ()), plus(line, column))
        place = plus(start, integers.muli(column, index(step)))
        store(divide(value), BufferOperand(result.memory, 0, ()), place)


@dataclass(frozen=True)
class Quotients:
    """Divides rows by their totals: NaN, or 0, where a row has none.

    Attributes:
        op: the attention.
        plan: its blocks.
        state: totals of the block.
    """

    op: Attention
    plan: AttentionPlan
    state: BlockRowState

    def __call__(self, row: ir.Value) -> Callable[[ir.Value], ir.Value]:
        """Return what divides a vector or a number of a row."""
        lanes = self.plan.lanes
        place = integers.muli(row, index(lanes))
        total = sum_of_lanes(load_vector(self.state.total, place, lanes))
        factor = arith.divf(_wide(1.0, lanes), total)
        if self.op.masked_rows == "nan":
            # Without a score above -inf a total is 0, and so are all sums: 0 times infinity.
            return lambda value: arith.mulf(value, _like(value, factor))
        # A NaN or +inf among scores makes a total NaN.
        is_strict = self.op.masked_rows == "zero"
        predicate = arith.CmpFPredicate.OGT if is_strict else arith.CmpFPredicate.UNE
        is_good = arith.cmpf(predicate, total, _wide(0.0, lanes))

        def divide(value: ir.Value) -> ir.Value:
            good, by, none = (_like(value, v) for v in (is_good, factor, _wide(0.0, lanes)))
            return arith.select(good, arith.mulf(value, by), none)

        return divide


def _wide(value: float, lanes: int) -> ir.Value:
    return broadcast(arith.constant(ir.F32Type.get(), value), lanes)


def _like(value: ir.Value, vector: ir.Value) -> ir.Value:
    """A vector of equal lanes, or the number in its first where `value` is one."""
    if isinstance(value.type, ir.VectorType):
        return vector
    element = ir.VectorType(vector.type).element_type
    first = ir.DenseI64ArrayAttr.get([0])
    return emit("vector.extract", [vector], element, static_position=first)
