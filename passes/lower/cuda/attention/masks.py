# SPDX-License-Identifier: MIT OR Apache-2.0
"""Masks and biases of scores, computed where they are needed."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, emit
from xyntra.passes.lower.cuda.attention.fragments import Layout, Matrix
from xyntra.passes.lower.cuda.attention.machine import fused, number, real, replaced_when
from xyntra.passes.lower.cuda.attention.problem import Located, Outer, Problem, Term
from xyntra.passes.lower.cuda.scalar_body import emit_on_scalars

LOG2_E = 1.4426950408889634

Flags = list[list[Scalar]]
"""A thread's part of a mask, by its rows."""


@dataclass(frozen=True)
class Read:
    """What masks a step needs, in registers: loads go ahead of the products."""

    keep: Flags | None
    bias: Matrix | None


@dataclass(frozen=True)
class Masks:
    """All that happens to the products of a warp before the softmax.

    Attributes:
        problem: the attention.
        outer: the batch and the head.
        layout: which scores a thread holds.
        row: its first query, int32; others follow as `layout.rows` says.
        warp_keys: keys of the warp in one step.
        step_keys: keys of all warps in one step.
    """

    problem: Problem
    outer: Outer
    layout: Layout
    row: Scalar
    warp_keys: int
    step_keys: int

    def read(self, first: Scalar) -> Read:
        """Load the masks of a step from the thread's first key, an int32, on."""
        keep, bias = self.problem.keep, self.problem.bias
        return Read(
            None if keep is None else self._values(keep, first, "bool"),
            None if bias is None else self._values(bias, first, "float32"),
        )

    def _values(self, term: Term, first: Scalar, dtype: str) -> Matrix:
        _, _, queries, keys, _, _ = self.problem.sizes
        found: Matrix = []
        for distance in self.layout.rows:
            if found and not term.moves_with_queries:
                found.append(found[0])
                continue
            row = (self.row + distance).minimum(queries - 1)
            starts = [_start(each, self.outer, row) for each in term.inputs]
            line = []
            for ahead in self.layout.keys:
                key = first + ahead
                if keys % self.step_keys:
                    key = key.minimum(keys - 1)
                line.append(_element(term, starts, key, dtype))
            found.append(line)
        return found

    def apply(self, products: Matrix, read: Read, first: Scalar, warp_first: Scalar) -> Matrix:
        """The scores of a step; as products, if `Problem.is_raw`, else in natural units.

        Args:
            products: of queries and keys.
            read: what `read` returned for the step.
            first: the thread's first key.
            warp_first: the warp's first key, the same in all lanes.
        """
        if self.problem.is_raw and read.keep is None:
            return self._cut(products, first, warp_first)
        rows = []
        for number_, row in enumerate(products):
            limit = self._causal_limit(number_) - first if self.problem.is_causal else None
            rows.append(
                [
                    self._score(row[i], _of(read.keep, number_, i), _of(read.bias, number_, i),
                                None if limit is None else limit > ahead)
                    for i, ahead in enumerate(self.layout.keys)
                ]
            )  # fmt: skip
        return self._without_missing(rows, first)

    def _score(
        self, product: Scalar, keep: Scalar | None, bias: Scalar | None, seen: Scalar | None
    ) -> Scalar:
        op = self.problem.op
        score = product if self.problem.is_raw else product * op.scale
        if bias is not None and op.fill_last:
            score = fused(product, real(op.scale), bias)
        for flag in (keep, seen):
            if flag is not None:
                score = flag.select(score, op.fill)
        if bias is None or op.fill_last:
            return score
        has_fill = keep is not None or seen is not None
        return score + bias if has_fill else fused(product, real(op.scale), bias)

    def _causal_limit(self, row: int) -> Scalar:
        """How many keys a query sees, an int32; may be negative or more than there are."""
        offset = (self.problem.op.causal_offset or 0) + 1
        return self.row + (self.layout.rows[row] + offset)

    def _without_missing(self, scores: Matrix, first: Scalar) -> Matrix:
        keys = self.problem.sizes[3]
        if keys % self.step_keys == 0:
            return scores
        there = number(keys) - first
        return [_cut_row(row, self.layout.keys, there) for row in scores]

    def _cut(self, scores: Matrix, first: Scalar, warp_first: Scalar) -> Matrix:
        """Hide keys behind the last one and behind the causal limit, where there are any."""
        keys = self.problem.sizes[3]
        is_ragged = keys % self.step_keys != 0
        if not is_ragged and not self.problem.is_causal:
            return scores
        visible = number(keys)
        if self.problem.is_causal:
            # The layout's rows ascend from the first row of the warp, which sees the fewest keys.
            fewest = self._causal_limit(0) - self.layout.row
            visible = fewest.minimum(keys) if is_ragged else fewest
        reaches = warp_first + self.warp_keys > visible
        flat = [each for row in scores for each in row]
        width = len(self.layout.keys)

        def hide(values: list[Scalar]) -> list[Scalar]:
            found = []
            for place in range(len(self.layout.rows)):
                limit = number(keys)
                if self.problem.is_causal:
                    limit = self._causal_limit(place).minimum(keys)
                row = values[place * width : (place + 1) * width]
                found += _cut_row(row, self.layout.keys, limit - first)
            return found

        cut = replaced_when(reaches, flat, hide)
        return [cut[start : start + width] for start in range(0, len(cut), width)]


def _cut_row(row: list[Scalar], keys: tuple[int, ...], limit: Scalar) -> list[Scalar]:
    hidden = real(float("-inf"))
    return [(limit > k).select(score, hidden) for score, k in zip(row, keys, strict=True)]


def _of(rows: Matrix | None, row: int, column: int) -> Scalar | None:
    return None if rows is None else rows[row][column]


def _start(each: Located | ir.Value, outer: Outer, row: Scalar) -> Scalar | ir.Value:
    """Where the row of a query starts, or the scalar itself."""
    if not isinstance(each, Located):
        return each
    start = each.start(outer)
    step = each.strides[0]
    return start + row.cast("uint32").cast("uint64") * step if step else start


def _element(term: Term, starts: list[Scalar | ir.Value], key: Scalar, dtype: str) -> Scalar:
    values: list[ir.Value] = []
    for each, start in zip(term.inputs, starts, strict=True):
        if not isinstance(each, Located) or not isinstance(start, Scalar):
            values.append(each)
            continue
        step = each.strides[1]
        place = start + key.cast("uint32").cast("uint64") * step if step else start
        memory = each.matrix.memory
        kind = ir.MemRefType(memory.type).element_type
        values.append(emit("memref.load", [memory, place.cast("index").value], kind))
    value = values[0] if term.body is None else emit_on_scalars(term.body, values)[0]
    kinds = {"i1": "bool", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
    return Scalar(value, kinds[str(value.type)]).cast(dtype)
