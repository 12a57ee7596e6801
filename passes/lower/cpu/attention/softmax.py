# SPDX-License-Identifier: MIT OR Apache-2.0
"""The online softmax of a block: exponentials of scores, with a running maximum and sum.

Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018): when a chunk of keys
raises the maximum of a row, what was summed up before is scaled by exp(old - new). As long as it
rises by little, the exponentials stay far from overflow and the old maximum is as good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.attention.plan import AttentionPlan
from xyntra.passes.lower.kernels.attention_operands import load_vector, store_vector
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import carrying_loop, index, loop, plus
from xyntra.passes.math.exp import exp2_flushed
from xyntra.passes.math.values import Builder, Float

__all__ = ["BlockRowState", "ChunkSoftmax", "Masking", "sum_of_lanes"]

Masking = Callable[[Float, ir.Value], Float]
"""Masks a vector of scores, given its first column."""

_NEGATIVE_INFINITY = float("-inf")
_MOST_RISE = 8.0


@dataclass(frozen=True)
class BlockRowState:
    """The online-softmax state of the rows of a block, one vector a row.

    Attributes:
        total: sums of exponentials, lane by lane.
        reference: what scores are reduced by, in every lane.
        sums: weighted values so far, one row of `columns` elements a row; None where they go from
            registers into the result.
        columns: elements of a row of `sums`.
    """

    total: ir.Value
    reference: ir.Value
    sums: ir.Value | None
    columns: int


@dataclass(frozen=True)
class ChunkSoftmax:
    """Turns rows of a chunk of scores into exponentials, and renews what is known of them.

    References of all rows come before exponentials of any: no row waits for the maximum of its own.

    Attributes:
        plan: the sizes.
        scores: a flat buffer, a row of `plan.keys` for each query of a block.
        count: how many vectors of `plan.width` scores there are in a row.
        state: what is known of the rows.
    """

    plan: AttentionPlan
    scores: ir.Value
    count: ir.Value
    state: BlockRowState

    def refer(self, row: ir.Value, mask: Masking | None) -> None:
        """Find out what the scores of a row are reduced by; `mask` changes them first, if given."""
        largest = _masked_maximum(self._line(row), mask)
        if self.plan.chunks == 1:
            store_vector(largest, self.state.reference, self._place(row))
        else:
            _renew(self.plan, self.state, row, largest)

    def exponentiate(self, row: ir.Value) -> None:
        """Replace the scores of a row by exponentials, and add these to its total."""
        place, lanes = self._place(row), self.plan.lanes
        reference = load_vector(self.state.reference, place, lanes)
        total = _exponentials(self._line(row), _finite(reference))
        if self.plan.chunks != 1:
            total = arith.addf(load_vector(self.state.total, place, lanes), total)
        store_vector(total, self.state.total, place)

    def _line(self, row: ir.Value) -> _Row:
        return _Row(self.plan, self.scores, integers.muli(row, index(self.plan.keys)), self.count)

    def _place(self, row: ir.Value) -> ir.Value:
        return integers.muli(row, index(self.plan.lanes))


@dataclass(frozen=True)
class _Row:
    plan: AttentionPlan
    scores: ir.Value
    start: ir.Value
    count: ir.Value

    @property
    def build(self) -> Builder:
        return Builder(ir.VectorType.get([self.plan.width], ir.F32Type.get()))

    def over_vectors(
        self,
        initial: float,
        body: Callable[[Float, ir.Value, ir.Value], tuple[Float, ir.Value]],
    ) -> ir.Value:
        """Loop over vectors of scores.

        `body` is given a vector, its column and what it carries from vector to vector, which starts
        from `initial`; it returns what takes the place of the first and the last.
        """
        width, build = self.plan.width, self.build
        built = carrying_loop(self.count, [build.float(initial).value])
        with ir.InsertionPoint(built.body):
            column = integers.muli(built.induction_variable, index(width))
            place = plus(self.start, column)
            value = Float(build, load_vector(self.scores, place, width))
            changed, carried = body(value, column, built.inner_iter_args[0])
            if changed is not value:
                store_vector(changed.value, self.scores, place)
            scf.YieldOp([carried])
        return built.results[0]


def _finite(largest: ir.Value) -> ir.Value:
    """Return what is subtracted from scores: their maximum, or 0 where that is -inf."""
    top = Float(Builder(largest.type), largest)
    return top.equals(_NEGATIVE_INFINITY).select(0.0, top).value


def _renew(plan: AttentionPlan, state: BlockRowState, row: ir.Value, largest: ir.Value) -> None:
    """Renew the reference of a row; where it is another, sums so far are brought to it."""
    place = integers.muli(row, index(plan.lanes))
    old = load_vector(state.reference, place, plan.lanes)
    bound = arith.addf(_first(old), arith.constant(ir.F32Type.get(), _MOST_RISE))
    rises = arith.cmpf(arith.CmpFPredicate.OGT, _first(largest), bound)
    branch = scf.IfOp(rises)
    with ir.InsertionPoint(branch.then_block):
        build = Builder(largest.type)
        factor = exp2_flushed(Float(build, old) - Float(build, largest)).value
        _scale(plan, state.total, place, 1, factor)
        start = integers.muli(row, index(state.columns))
        if state.sums is not None:
            _scale(plan, state.sums, start, state.columns // plan.lanes, factor)
        store_vector(largest, state.reference, place)
        scf.YieldOp([])


def _scale(
    plan: AttentionPlan, memory: ir.Value, start: ir.Value, vectors: int, factor: ir.Value
) -> None:
    with loop(vectors) as number:
        place = plus(start, integers.muli(number, index(plan.lanes)))
        value = load_vector(memory, place, plan.lanes)
        store_vector(arith.mulf(value, factor), memory, place)


def _larger(first: ir.Value, second: ir.Value) -> ir.Value:
    # A NaN is lost here, and comes back through the exponential of the score itself.
    build = Builder(first.type)
    return (
        (Float(build, first) > Float(build, second))
        .select(Float(build, first), Float(build, second))
        .value
    )


def _masked_maximum(row: _Row, mask: Masking | None) -> ir.Value:
    """The largest score of a row, in every lane."""

    def body(score: Float, column: ir.Value, largest: ir.Value) -> tuple[Float, ir.Value]:
        masked = score if mask is None else mask(score, column)
        return masked, _larger(masked.value, largest)

    return _across_lanes(_folded(row, row.over_vectors(_NEGATIVE_INFINITY, body), _larger), _larger)


def _exponentials(row: _Row, reference: ir.Value) -> ir.Value:
    """Replace a row by exp(score - reference); return sums by lane."""
    shift = _repeated(reference, row.plan.width)

    def body(score: Float, _: ir.Value, total: ir.Value) -> tuple[Float, ir.Value]:
        value = exp2_flushed(score - Float(score.build, shift))
        return value, arith.addf(total, value.value)

    return _folded(row, row.over_vectors(0.0, body), arith.addf)


def sum_of_lanes(vector: ir.Value) -> ir.Value:
    """The sum of a vector's lanes, in every lane."""
    return _across_lanes(vector, arith.addf)


_Combine = Callable[[ir.Value, ir.Value], ir.Value]


def _folded(row: _Row, vector: ir.Value, combine: _Combine) -> ir.Value:
    """A wide vector folded to the lanes of one register."""
    width, lanes = row.plan.width, row.plan.lanes
    parts = [
        _shuffled(vector, list(range(start, start + lanes))) for start in range(0, width, lanes)
    ]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [combine(*pair) for pair in zip(parts[:half], parts[half:], strict=True)]
    return parts[0]


def _repeated(vector: ir.Value, width: int) -> ir.Value:
    """A vector of `width` lanes, all of which are the first of `vector`."""
    return _shuffled(vector, [0] * width)


def _shuffled(vector: ir.Value, lanes: list[int]) -> ir.Value:
    kind = ir.VectorType.get([len(lanes)], ir.VectorType(vector.type).element_type)
    order = ir.DenseI64ArrayAttr.get(lanes)
    return emit("vector.shuffle", [vector, vector], kind, mask=order)


def _across_lanes(vector: ir.Value, combine: _Combine) -> ir.Value:
    """All lanes combined, in every lane; there are as many as a power of two."""
    lanes = ir.VectorType(vector.type).shape[0]
    step = lanes // 2
    while step:
        vector = combine(vector, _shuffled(vector, [lane ^ step for lane in range(lanes)]))
        step //= 2
    return vector


def _first(vector: ir.Value) -> ir.Value:
    """The first lane."""
    kind = ir.VectorType(vector.type)
    return emit("vector.extract", [vector], kind.element_type,
                static_position=ir.DenseI64ArrayAttr.get([0]))  # fmt: skip
