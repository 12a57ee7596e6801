# SPDX-License-Identifier: MIT OR Apache-2.0
"""Masks and biases of scores, computed where they are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, emit
from xyntra.passes.lower.gpu.attention.layout import FragmentLayout, Matrix
from xyntra.passes.lower.gpu.attention.problem import Located, MaskTerm, Outer, Problem
from xyntra.passes.lower.gpu.attention.values import fused, number, real, replaced_when
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars, indices_of

LOG2_E = 1.4426950408889634

Flags = list[list[Scalar]]
"""A thread's part of a mask, by its rows."""


@dataclass(frozen=True)
class MaskLoads:
    """Mask values of a step in registers, loaded ahead of the products."""

    keep: Flags | None
    bias: Matrix | None


@dataclass(frozen=True)
class WarpMasks:
    """All that happens to the products of a warp before the softmax.

    Attributes:
        problem: the attention.
        outer: the batch and the head.
        layout: which scores a thread holds.
        row: its first query, int32; others follow as `layout.rows` says.
        warp_keys: keys of the warp in one step.
        is_ragged: whether a step may reach behind the last key.
        tanh: the hyperbolic tangent that caps scores.
    """

    problem: Problem
    outer: Outer
    layout: FragmentLayout
    row: Scalar
    warp_keys: int
    is_ragged: bool
    tanh: Callable[[Scalar], Scalar]

    def read(self, first: Scalar) -> MaskLoads:
        """Load the masks of a step from the thread's first key, an int32, on."""
        keep, bias = self.problem.keep, self.problem.bias
        return MaskLoads(
            None if keep is None else self._values(keep, first, "bool"),
            None if bias is None else self._values(bias, first, "float32"),
        )

    def _values(self, term: MaskTerm, first: Scalar, dtype: str) -> Matrix:
        queries = self.problem.sizes[2]
        found: Matrix = []
        for distance in self.layout.rows:
            if found and not term.moves_with_queries:
                found.append(found[0])
                continue
            row = (self.row + distance).minimum(queries - 1)
            places = (*term.inputs, *term.indices)
            starts = [_start(each, self.outer, row) for each in places]
            found.append(self._line(term, starts, first, dtype))
        return found

    def _line(
        self, term: MaskTerm, starts: list[Scalar | None], first: Scalar, dtype: str
    ) -> list[Scalar]:
        """A term for all keys of the thread; contiguous ones are read at once where they can be."""
        ahead, keys = self.layout.keys, self.problem.sizes[3]
        is_paired = ahead[1] == ahead[0] + 1 and keys % 2 == 0 and term.has_pairs
        count = 2 if is_paired else 1
        line: list[Scalar] = []
        for place in range(0, len(ahead), count):
            key, distance = first, ahead[place]
            if self.is_ragged:
                key, distance = (first + distance).minimum(keys - count), 0
            line += _elements(term, starts, (key, distance), count, dtype)
        return line

    def apply(self, products: Matrix, read: MaskLoads, first: Scalar, warp_first: Scalar) -> Matrix:
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
        if op.softcap:
            score = self.tanh(product * (op.scale / op.softcap)) * op.softcap
        if bias is not None and op.fill_last:
            score = score + bias if op.softcap else fused(product, real(op.scale), bias)
        for flag in (keep, seen):
            if flag is not None:
                score = flag.select(score, op.fill)
        if bias is None or op.fill_last:
            return score
        has_fill = keep is not None or seen is not None or op.softcap > 0
        return score + bias if has_fill else fused(product, real(op.scale), bias)

    def _causal_limit(self, row: int) -> Scalar:
        """Return how many keys a query sees, an int32; may be negative or more than there are."""
        offset, queries = (self.problem.op.causal_offset or 0) + 1, self.problem.queries
        if queries:
            query = (self.row + self.layout.rows[row]).cast("uint32") % queries
            return query.cast("int32") + offset
        return self.row + (self.layout.rows[row] + offset)

    def _fewest(self) -> Scalar:
        """Return how many keys a query of the warp sees at least, likewise."""
        if self.problem.queries:
            return number((self.problem.op.causal_offset or 0) + 1)
        # The layout's rows ascend from the first row of the warp, which sees the fewest keys.
        return self._causal_limit(0) - self.layout.row

    def _without_missing(self, scores: Matrix, first: Scalar) -> Matrix:
        keys = self.problem.sizes[3]
        if not self.is_ragged:
            return scores
        there = number(keys) - first
        return [_cut_row(row, self.layout.keys, there) for row in scores]

    def _cut(self, scores: Matrix, first: Scalar, warp_first: Scalar) -> Matrix:
        """Hide keys behind the last one and behind the causal limit, where there are any."""
        keys = self.problem.sizes[3]
        if not self.is_ragged and not self.problem.is_causal:
            return scores
        visible = number(keys)
        if self.problem.is_causal:
            fewest = self._fewest()
            visible = fewest.minimum(keys) if self.is_ragged else fewest
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


def _start(each: Located | ir.Value, outer: Outer, row: Scalar) -> Scalar | None:
    """Return where the row of a query starts; None for a scalar."""
    if not isinstance(each, Located):
        return None
    start = each.start(outer)
    step = each.strides[0]
    return start + row.cast("uint32").cast(each.places) * step if step else start


def _elements(
    term: MaskTerm,
    starts: list[Scalar | None],
    key: tuple[Scalar, int],
    count: int,
    dtype: str,
) -> list[Scalar]:
    """A term for `count` neighbouring keys, the first of them given as a sum."""
    read: list[list[ir.Value]] = []
    for each, start in zip(term.inputs, starts, strict=False):
        if isinstance(each, Located) and start is not None:
            read.append(_loaded(each, start, key, count))
        else:
            read.append([each] * count)
    behind = starts[len(term.inputs) :]
    found = []
    for number_ in range(count):
        values = [each[number_] for each in read]
        known = _numbers(term, behind, (key[0], key[1] + number_))
        value = values[0] if term.body is None else emit_on_scalars(term.body, values, known)[0]
        kinds = {"i1": "bool", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
        found.append(Scalar(value, kinds[str(value.type)]).cast(dtype))
    return found


def _numbers(
    term: MaskTerm, starts: list[Scalar | None], key: tuple[Scalar, int]
) -> dict[ir.Value, ir.Value]:
    """What each linalg.index of a term's body is for a key."""
    if term.body is None:
        return {}
    ops = indices_of(term.body)
    return {
        op.result: _place(each, start, key).cast("index").value
        for op, each, start in zip(ops, term.indices, starts, strict=True)
        if start is not None
    }


def _place(each: Located, start: Scalar, key: tuple[Scalar, int]) -> Scalar:
    step = each.strides[1]
    if not step:
        return start
    # A constant at the end becomes part of the instruction.
    return start + key[0].cast("uint32").cast(each.places) * step + key[1] * step


def _loaded(each: Located, start: Scalar, key: tuple[Scalar, int], count: int) -> list[ir.Value]:
    step, memory = each.strides[1], each.matrix.memory
    kind = ir.MemRefType(memory.type).element_type
    index = _place(each, start, key).cast("index").value
    if count == 1 or not step:
        return [emit("memref.load", [memory, index], kind)] * count
    pair = ir.VectorType.get([count], kind)
    word = ir.IntegerType.get_signless(64)
    alignment = ir.IntegerAttr.get(word, count * each.item_bytes)
    vector = emit("vector.load", [memory, index], pair, alignment=alignment)
    return [
        emit("vector.extract", [vector], kind, static_position=ir.DenseI64ArrayAttr.get([k]))
        for k in range(count)
    ]
