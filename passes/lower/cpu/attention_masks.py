# SPDX-License-Identifier: MIT OR Apache-2.0
"""Masks and biases of one row of scores, as vectors."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import KEY, QUERY
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.attention_operands import Matrix, Outer, load_vector
from xyntra.passes.lower.cpu.attention_plan import AttentionPlan
from xyntra.passes.lower.cpu.linear_nest import Access
from xyntra.passes.lower.cpu.loop_builder import index, load, loop, plus, store
from xyntra.passes.lower.cpu.vector_body import broadcast
from xyntra.passes.math.values import Bool, Float

__all__ = ["Masks", "RowMask"]


@dataclass(frozen=True)
class RowMask:
    """A mask or bias, and a buffer for its values over one chunk of keys, as f32.

    What does not change from query to query is read once for a block.
    """

    matrix: Matrix
    buffer: ir.Value

    @property
    def is_shared(self) -> bool:
        """Whether all queries have the same values."""
        return self.matrix.stride(QUERY) == 0

    def read(self, outer: Outer, row: ir.Value, first: ir.Value, count: ir.Value) -> None:
        """Fill the buffer for a query and `count` keys from key `first` on."""
        start = plus(
            self.matrix.start(outer),
            arith.muli(row, index(self.matrix.stride(QUERY))),
            arith.muli(first, index(self.matrix.stride(KEY))),
        )
        with loop(count) as column:
            place = plus(start, arith.muli(column, index(self.matrix.stride(KEY))))
            value = load(Access(self.matrix.memory, 0, ()), place)
            if isinstance(value.type, ir.IntegerType):
                value = arith.uitofp(ir.F32Type.get(), value)
            store(value, Access(self.buffer, 0, ()), column)


@dataclass(frozen=True)
class Masks:
    """All that happens to the scores of an attention before the softmax."""

    op: Attention
    plan: AttentionPlan
    keep: RowMask | None
    bias: RowMask | None

    @property
    def is_ragged(self) -> bool:
        """Whether the last chunk has columns without a key."""
        return self.op.sizes[KEY] != self.plan.padded_keys

    @property
    def is_needed(self) -> bool:
        """Whether scores change at all."""
        has_masks = self.keep is not None or self.bias is not None
        return has_masks or self.is_ragged or self.op.causal_offset is not None

    def read(self, outer: Outer, row: ir.Value, first: ir.Value, *, shared: bool) -> None:
        """Read those masks that are, or are not, shared by all queries of a block."""
        rest = arith.subi(index(self.op.sizes[KEY]), first)
        count = arith.minsi(rest, index(self.plan.keys))
        for mask in (self.keep, self.bias):
            if mask is not None and mask.is_shared == shared:
                mask.read(outer, row, first, count)

    def apply(
        self, score: Float, row: ir.Value, first: ir.Value, column: ir.Value, lane: int
    ) -> Float:
        """Mask a vector of scores.

        Args:
            score: the scores.
            row: the query.
            first: the first key of the chunk.
            column: the first column of a panel, counted from there.
            lane: how far behind it the vector starts.
        """
        here = plus(column, index(lane))
        if self.op.fill_last:
            score = self._biased(score, here)
        if self.keep is not None:
            kept = Float(score.build, load_vector(self.keep.buffer, here, self.plan.lanes))
            score = (kept > 0.5).select(score, self.op.fill)
        if self.op.causal_offset is not None:
            last = plus(row, index(self.op.causal_offset))
            score = self._up_to(score, last, plus(first, here)).select(score, self.op.fill)
        if not self.op.fill_last:
            score = self._biased(score, here)
        if self.is_ragged:
            last = index(self.op.sizes[KEY] - 1)
            score = self._up_to(score, last, plus(first, here)).select(score, float("-inf"))
        return score

    def _biased(self, score: Float, column: ir.Value) -> Float:
        if self.bias is None:
            return score
        return score + Float(score.build, load_vector(self.bias.buffer, column, self.plan.lanes))

    def _up_to(self, score: Float, last: ir.Value, first: ir.Value) -> Bool:
        """Which lanes stand for keys up to `last`, where the vector starts with key `first`."""
        i32 = ir.IntegerType.get_signless(32)
        kind = ir.VectorType.get([self.plan.lanes], i32)
        values = [ir.IntegerAttr.get(i32, lane) for lane in range(self.plan.lanes)]
        lanes = arith.constant(kind, ir.DenseElementsAttr.get(values, kind))
        distance = arith.index_cast(i32, arith.subi(last, first))
        predicate = arith.CmpIPredicate.sle
        return Bool(score.build, arith.cmpi(predicate, lanes, broadcast(distance, self.plan.lanes)))
