# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of an attention's result: sums of weighted values over the sums of weights."""

from __future__ import annotations

from torch_mlir.dialects import arith

from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import QUERY, VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.attention_operands import Matrix, Outer, load_vector, store_vector
from xyntra.passes.lower.cpu.attention_plan import AttentionPlan
from xyntra.passes.lower.cpu.attention_softmax import RowState, sum_of_lanes
from xyntra.passes.lower.cpu.linear_nest import Access
from xyntra.passes.lower.cpu.loop_builder import index, load, loop, plus, store
from xyntra.passes.lower.cpu.vector_body import broadcast

__all__ = ["write_row"]


def write_row(
    op: Attention,
    plan: AttentionPlan,
    result: Matrix,
    outer: Outer,
    query: ir.Value,
    row: ir.Value,
    state: RowState,
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
    total = load_vector(state.total, arith.muli(row, index(plan.lanes)), plan.lanes)
    divide = _Division(op, plan, sum_of_lanes(total))
    start = plus(result.start(outer), arith.muli(query, index(result.stride(QUERY))))
    line = arith.muli(row, index(state.columns))
    size, step = op.sizes[VALUE_SIZE], result.stride(VALUE_SIZE)
    whole = size // plan.lanes if step == 1 else 0
    if whole:
        with loop(whole) as number:
            column = arith.muli(number, index(plan.lanes))
            value = load_vector(state.sums, plus(line, column), plan.lanes)
            store_vector(divide(value), result.memory, plus(start, column))
    if size == whole * plan.lanes:
        return
    with loop(size - whole * plan.lanes) as number:
        column = plus(index(whole * plan.lanes), number)
        value = load(Access(state.sums, 0, ()), plus(line, column))
        place = plus(start, arith.muli(column, index(step)))
        store(divide(value), Access(result.memory, 0, ()), place)


class _Division:
    """Divides by a row's total: NaN, or 0, where the row has none."""

    def __init__(self, op: Attention, plan: AttentionPlan, total: ir.Value) -> None:
        """`total` is a vector, the same in every lane."""
        f32 = ir.F32Type.get()

        def wide(value: float) -> ir.Value:
            return broadcast(arith.constant(f32, value), plan.lanes)

        # Without a score above -inf a total is 0; a NaN or +inf among them makes it NaN.
        is_strict = op.masked_rows == "zero"
        predicate = arith.CmpFPredicate.OGT if is_strict else arith.CmpFPredicate.UNE
        self._is_good = arith.cmpf(predicate, total, wide(0.0))
        self._factor = arith.divf(wide(1.0), total)
        self._other = wide(float("nan") if op.masked_rows == "nan" else 0.0)

    def __call__(self, value: ir.Value) -> ir.Value:
        """Return the quotient of a vector or a number."""
        operands = [self._is_good, self._factor, self._other]
        if not isinstance(value.type, ir.VectorType):
            operands = [_first(each) for each in operands]
        is_good, factor, other = operands
        return arith.select(is_good, arith.mulf(value, factor), other)


def _first(vector: ir.Value) -> ir.Value:
    element = ir.VectorType(vector.type).element_type
    first = ir.DenseI64ArrayAttr.get([0])
    return emit("vector.extract", [vector], element, static_position=first)
