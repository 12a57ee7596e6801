# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of scores become exponentials, with a running maximum and a running sum.

Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018): when a chunk of keys
raises the maximum of a row, what was summed up before is scaled by exp(old - new).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.attention_operands import load_vector, store_vector
from xyntra.passes.lower.cpu.attention_plan import AttentionPlan
from xyntra.passes.lower.cpu.linear_nest import Access
from xyntra.passes.lower.cpu.loop_builder import carrying_loop, index, load, plus, store
from xyntra.passes.lower.cpu.vector_body import broadcast
from xyntra.passes.math.exp import exp
from xyntra.passes.math.values import Builder, Float

__all__ = ["Masking", "RowState", "chunk_softmax"]

Masking = Callable[[Float, ir.Value, int], Float]
"""Masks a vector of scores, given the first column of its panel and how far behind it starts."""

_NEGATIVE_INFINITY = float("-inf")


@dataclass(frozen=True)
class RowState:
    """For every row of a block: its maximum, its sum, and what sums so far are scaled by."""

    maximum: ir.Value
    total: ir.Value
    rescale: ir.Value | None


def chunk_softmax(
    plan: AttentionPlan,
    scores: ir.Value,
    row: ir.Value,
    state: RowState,
    mask: Masking | None,
) -> None:
    """Turn one row of a chunk of scores into exponentials, and renew `state`.

    Args:
        plan: the sizes.
        scores: a flat buffer, a row of `plan.keys` for each query of a block.
        row: the number of the row.
        state: buffers with one element a row; without `rescale` this is the first and last chunk.
        mask: what becomes of scores first, if anything.
    """
    start = arith.muli(row, index(plan.keys))
    largest = _masked_maximum(plan, scores, start, mask)
    old = None
    if state.rescale is not None:
        old = load(Access(state.maximum, 0, ()), row)
        largest = _larger(old, largest)
        store(largest, Access(state.maximum, 0, ()), row)
    reference = _reference(largest)
    total = _exponentials(plan, scores, start, reference)
    if old is not None and state.rescale is not None:
        build = Builder(old.type)
        factor = exp(Float(build, old) - Float(build, reference)).value
        store(factor, Access(state.rescale, 0, ()), row)
        before = load(Access(state.total, 0, ()), row)
        total = arith.addf(arith.mulf(before, factor), total)
    store(total, Access(state.total, 0, ()), row)


def _reference(largest: ir.Value) -> ir.Value:
    """What is subtracted from scores: their maximum, or 0 where that is -inf."""
    build = Builder(largest.type)
    top = Float(build, largest)
    return top.equals(_NEGATIVE_INFINITY).select(0.0, top).value


def _larger(first: ir.Value, second: ir.Value) -> ir.Value:
    # A NaN is lost here, and comes back through the exponential of the score itself.
    build = Builder(first.type)
    return (
        (Float(build, first) > Float(build, second))
        .select(Float(build, first), Float(build, second))
        .value
    )


def _vectors(plan: AttentionPlan) -> range:
    return range(0, plan.panel, plan.lanes)


def _over_panels(
    plan: AttentionPlan,
    start: ir.Value,
    initial: Sequence[ir.Value],
    body: Callable[[ir.Value, ir.Value, Sequence[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """Loop over the panels of a row; `body` is given the place, the column and what is carried."""
    built = carrying_loop(plan.keys // plan.panel, initial)
    with ir.InsertionPoint(built.body):
        column = arith.muli(built.induction_variable, index(plan.panel))
        scf.YieldOp(body(plus(start, column), column, list(built.inner_iter_args)))
    return list(built.results)


def _masked_maximum(
    plan: AttentionPlan, scores: ir.Value, start: ir.Value, mask: Masking | None
) -> ir.Value:
    kind = ir.VectorType.get([plan.lanes], ir.F32Type.get())
    build = Builder(kind)

    def body(place: ir.Value, column: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        found = []
        for number, lane in enumerate(_vectors(plan)):
            here = plus(place, index(lane))
            value = Float(build, load_vector(scores, here, plan.lanes))
            if mask is not None:
                value = mask(value, column, lane)
                store_vector(value.value, scores, here)
            found.append(_larger(value.value, carried[number]))
        return found

    lowest = broadcast(arith.constant(ir.F32Type.get(), _NEGATIVE_INFINITY), plan.lanes)
    first, *others = _over_panels(plan, start, [lowest for _ in _vectors(plan)], body)
    for other in others:
        first = _larger(first, other)
    return _reduced("maxnumf", first)


def _exponentials(
    plan: AttentionPlan, scores: ir.Value, start: ir.Value, reference: ir.Value
) -> ir.Value:
    """Replace a row by exp(score - reference); return the sum."""
    build = Builder(ir.VectorType.get([plan.lanes], ir.F32Type.get()))
    shift = Float(build, broadcast(reference, plan.lanes))

    def body(place: ir.Value, _: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        found = []
        for number, lane in enumerate(_vectors(plan)):
            here = plus(place, index(lane))
            value = exp(Float(build, load_vector(scores, here, plan.lanes)) - shift)
            store_vector(value.value, scores, here)
            found.append(arith.addf(carried[number], value.value))
        return found

    zero = broadcast(arith.constant(ir.F32Type.get(), 0.0), plan.lanes)
    first, *others = _over_panels(plan, start, [zero for _ in _vectors(plan)], body)
    for other in others:
        first = arith.addf(first, other)
    return _reduced("add", first)


def _reduced(kind: str, vector: ir.Value) -> ir.Value:
    element = ir.VectorType(vector.type).element_type
    attributes = {
        "kind": ir.Attribute.parse(f"#vector.kind<{kind}>"),
        "fastmath": ir.Attribute.parse("#arith.fastmath<reassoc>"),
    }
    return emit("vector.reduction", [vector], element, **attributes)
