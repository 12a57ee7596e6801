# SPDX-License-Identifier: MIT OR Apache-2.0
"""Masks and biases of one row of scores, as vectors.

Scores are multiples of ln 2, for exponentials that are powers of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isinf

from torch_mlir.dialects import arith

from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import KEY, QUERY
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.attention.plan import AttentionPlan
from xyntra.passes.lower.kernels.attention_operands import Matrix, Outer, load_vector, store_vector
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import index, load, loop, plus, store
from xyntra.passes.lower.loops.vector_body import broadcast
from xyntra.passes.math.exp import LOG2_E
from xyntra.passes.math.tanh import tanh
from xyntra.passes.math.values import Bool, Builder, Float

__all__ = ["Masks", "RowMask"]

_LARGEST = (2 - 2.0**-23) * 2.0**127


def _in_powers_of_two(score: Float) -> Float:
    """Return what is finite stays so: a row of the lowest number hides nothing."""
    scaled = (score * LOG2_E).at_least(-_LARGEST).at_most(_LARGEST)
    return abs(score).equals(float("inf")).select(score, scaled)


@dataclass(frozen=True)
class RowMask:
    """A mask or bias, and a buffer for its values over one chunk of keys: 0 and 1, or scores.

    What does not change from query to query is read once for a block.
    """

    matrix: Matrix
    buffer: ir.Value

    @property
    def is_shared(self) -> bool:
        """Tell whether all queries have the same values."""
        return self.matrix.stride(QUERY) == 0

    def read(
        self, outer: Outer, row: ir.Value, first: ir.Value, count: ir.Value, lanes: int
    ) -> None:
        """Fill the buffer for a query and `count` keys from key `first` on."""
        start = plus(
            self.matrix.start(outer),
            integers.muli(row, index(self.matrix.stride(QUERY))),
            integers.muli(first, index(self.matrix.stride(KEY))),
        )
        done = index(0)
        if self.matrix.stride(KEY) == 1 and isinstance(self._element_type, ir.F32Type):
            whole = integers.divui(count, index(lanes))
            done = integers.muli(whole, index(lanes))
            with loop(whole) as number:
                column = integers.muli(number, index(lanes))
                value = load_vector(self.matrix.memory, plus(start, column), lanes)
                store_vector(_as_scores(value), self.buffer, column)
        with loop(integers.subi(count, done)) as number:
            column = plus(done, number)
            place = plus(start, integers.muli(column, index(self.matrix.stride(KEY))))
            value = load(BufferOperand(self.matrix.memory, 0, ()), place)
            store(_as_scores(value), BufferOperand(self.buffer, 0, ()), column)

    @property
    def _element_type(self) -> ir.Type:
        return ir.MemRefType(self.matrix.memory.type).element_type


def _as_scores(value: ir.Value) -> ir.Value:
    """Return what the buffer holds for an element, or a vector of them."""
    if isinstance(value.type, ir.IntegerType):
        return arith.uitofp(ir.F32Type.get(), value)
    return _in_powers_of_two(Float(Builder(value.type), value)).value


@dataclass(frozen=True)
class Masks:
    """All that happens to the scores of an attention before the softmax."""

    op: Attention
    plan: AttentionPlan
    keep: RowMask | None
    bias: RowMask | None
    is_whole: bool = False
    limit: ir.Value | None = None

    @property
    def is_ragged(self) -> bool:
        """Tell whether there may be columns without a key."""
        return not self.is_whole and self.op.sizes[KEY] != self.plan.padded_keys

    @property
    def is_needed(self) -> bool:
        """Tell whether scores change at all."""
        has_masks = self.keep is not None or self.bias is not None or self.op.softcap > 0
        has_end = self.is_ragged or self.limit is not None
        return has_masks or has_end or self.op.causal_offset is not None

    def of_whole_chunk(self) -> Masks:
        """The masks of a chunk all keys of which exist, and are seen by all queries of a block."""
        return replace(self, op=replace(self.op, causal_offset=None), is_whole=True)

    def read(self, outer: Outer, row: ir.Value, first: ir.Value, *, shared: bool) -> None:
        """Read those masks that are, or are not, shared by all queries of a block."""
        rest = integers.subi(index(self.op.sizes[KEY]), first)
        count = integers.minsi(rest, index(self.plan.keys))
        for mask in (self.keep, self.bias):
            if mask is not None and mask.is_shared == shared:
                mask.read(outer, row, first, count, self.plan.lanes)

    def apply(self, score: Float, row: ir.Value, first: ir.Value, column: ir.Value) -> Float:
        """Mask a vector of scores.

        Args:
            score: the scores.
            row: the query.
            first: the first key of the chunk.
            column: where the vector starts, counted from there.
        """
        key = plus(first, column)
        if self.op.softcap:
            cap = self.op.softcap * LOG2_E
            score = tanh(score * (1 / cap)) * cap
        if self.op.fill_last:
            score = self._biased(score, column)
        if self.keep is not None:
            kept = Float(score.build, load_vector(self.keep.buffer, column, self.plan.width))
            score = (kept > 0.5).select(score, self._fill)
        if self.op.causal_offset is not None:
            last = plus(row, index(self.op.causal_offset))
            score = self._up_to(score, last, key).select(score, self._fill)
        if not self.op.fill_last:
            score = self._biased(score, column)
        if self.limit is not None:
            last = integers.subi(self.limit, index(1))
            score = self._up_to(score, last, key).select(score, float("-inf"))
        elif self.is_ragged:
            last = index(self.op.sizes[KEY] - 1)
            score = self._up_to(score, last, key).select(score, float("-inf"))
        return score

    @property
    def _fill(self) -> float:
        fill = self.op.fill
        return fill if isinf(fill) else max(min(fill * LOG2_E, _LARGEST), -_LARGEST)

    def _biased(self, score: Float, column: ir.Value) -> Float:
        if self.bias is None:
            return score
        return score + Float(score.build, load_vector(self.bias.buffer, column, self.plan.width))

    def _up_to(self, score: Float, last: ir.Value, first: ir.Value) -> Bool:
        """Which lanes stand for keys up to `last`, where the vector starts with key `first`."""
        i32 = ir.IntegerType.get_signless(32)
        width = self.plan.width
        kind = ir.VectorType.get([width], i32)
        values = [ir.IntegerAttr.get(i32, lane) for lane in range(width)]
        lanes = arith.constant(kind, ir.DenseElementsAttr.get(values, kind))
        distance = arith.index_cast(i32, integers.subi(last, first))
        predicate = arith.CmpIPredicate.sle
        return Bool(score.build, arith.cmpi(predicate, lanes, broadcast(distance, width)))
