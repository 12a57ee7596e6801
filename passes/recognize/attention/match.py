# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the attention around a softmax, and says it as one operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xyntra.dialects.attention import Access, Attention
from xyntra.dialects.attention_layout import BATCH, HEAD, KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Position, compose
from xyntra.passes.recognize.attention.places import Place, Root, root, tensor
from xyntra.passes.recognize.attention.scores import (
    Probabilities,
    Scores,
    find_scores,
    find_softmax,
)
from xyntra.passes.recognize.matching.expressions import Expression, ExpressionGraph

__all__ = ["AttentionMatch", "match_attention"]

_ELEMENTS = ("f16", "bf16", "f32")
_LARGEST = 2.0**127  # of a scale: it is kept as f32


@dataclass(frozen=True)
class AttentionMatch:
    """An attention, and the operations that it begins and ends with.

    Attributes:
        attention: what is found.
        scores: the contraction of queries and keys.
        product: the contraction of probabilities and values.
        inverted: whether its mask has to be negated first.
        largest: the largest score of each row, where that tells which rows become 0.
        biases: its bias is the sum of these, each times a factor.
    """

    attention: Attention
    scores: ir.Operation
    product: ir.Operation
    inverted: bool
    largest: ir.Operation | None = None
    biases: tuple[tuple[Access, float], ...] = ()


def match_attention(
    graph: ExpressionGraph, softmax: ir.Operation, product: ir.Operation, *, widened: bool
) -> AttentionMatch | None:
    """Return the attention that ends in `product`, the contraction of probabilities and values.

    Args:
        graph: of the block.
        softmax: of the attention.
        product: its last operation.
        widened: look through conversions of queries, keys and values from 16 bits to f32.
    """
    result = graph.expression(product.results[0])
    factors = result.contraction
    if factors is None or len(result.domain) != len(result.shape) + 1 or 0 in result.domain:
        return None
    loops = _loops(result.domain)
    outer = Place(result, loops[: len(result.shape)], graph)
    reads = [tensor(outer.read(factor, loops[len(result.shape) :])) for factor in factors]
    for probabilities, values in (reads, reads[::-1]):
        found = find_softmax(probabilities, softmax)
        if found is not None:
            around = _Around(result, probabilities, values, found, product, widened)
            return around.match(axis=softmax.attributes["axis"].value)
    return None


def _loops(extents: Sequence[int]) -> tuple[Position, ...]:
    return tuple(Position.of_loop(i, extent) for i, extent in enumerate(extents))


@dataclass(frozen=True)
class _Around:
    """The second contraction: its loops are those of the result, then that over keys (`last`)."""

    result: Expression
    probabilities: Place
    values: Place
    softmax: Probabilities
    product: ir.Operation
    widened: bool

    @property
    def last(self) -> int:
        """The number of the loop over keys."""
        return len(self.result.shape)

    def match(self, axis: int) -> AttentionMatch | None:
        """Continue from the softmax, which is along `axis`, upwards."""
        softmax = self.softmax.place
        key = Position.of_loop(self.last, self.result.domain[self.last])
        rest = [p for d, p in enumerate(softmax.positions) if d != axis]
        if softmax.positions[axis] != key or any(self.last in p.loops for p in rest):
            return None
        scores = find_scores(self.softmax.scores)
        if scores is None or scores.products is None or not self._masks_agree(scores, key):
            return None
        products = scores.products.source
        if len(products.domain) != len(products.shape) + 1 or 0 in products.domain:
            return None
        size = products.domain[-1]
        inner = Position.of_loop(self.last + 1, size)
        factors = products.contraction or ()
        reads = [tensor(scores.products.read(factor, [inner])) for factor in factors]
        for query, keys in (reads, reads[::-1]):
            found = self._with_factors(scores, query, keys, size)
            if found is not None:
                return found
        return None

    def _masks_agree(self, scores: Scores, key: Position) -> bool:
        """Tell whether rows that become 0 are those without a score, or masked by the bias."""
        largest = self.softmax.emptied_by
        if largest is None:
            return True
        (read,) = (largest.read(read, [key]) for read in largest.source.operands)
        is_bias = scores.biases == [read] and scores.factors[0] > 0
        return read == self.softmax.scores or is_bias

    def _with_factors(
        self, scores: Scores, query: Place, keys: Place, key_size: int
    ) -> AttentionMatch | None:
        roles = self._roles(query, keys)
        if roles is None:
            return None
        extents = [*self.result.domain, key_size]
        whole = [
            (loop, extents[loop])
            for loop in (roles.query, roles.value, self.last, self.last + 1)
            if loop is not None
        ]
        widened = self.widened
        roots = (
            root(query, whole, scaled=True, widened=widened),
            root(keys, whole, scaled=True, widened=widened),
            root(self.values, whole, widened=widened),
            root(scores.keep, whole) if scores.keep else None,
            *(root(bias, whole) for bias in scores.biases),
        )
        is_missing = [found is None for found in roots]
        if any(is_missing[:3]) or any(is_missing[4:]) or (scores.keep and is_missing[3]):
            return None
        return _Builder(self, scores, roles, extents).build(roots)

    def _roles(self, query: Place, keys: Place) -> _Roles | None:
        """Tell which loop of the result is the query, the value's size, or shared by all."""
        inner, last = self.last + 1, self.last
        if last in query.loops or self.last in keys.loops - {last}:
            return None
        free = [d for d in range(last) if self.result.shape[d] > 1]
        value = [d for d in free if d in self.values.loops and d not in self.probabilities.loops]
        rows = [
            loop
            for position in self.probabilities.positions
            for loop in sorted(position.loops)
            if loop not in keys.loops and loop not in self.values.loops and loop != last
        ]
        used = {*rows, *self.values.loops, *keys.loops, last, inner}
        if len(value) > 1 or any(d not in used for d in free):
            return None
        if value and value[0] in query.loops | keys.loops:
            return None
        row = rows[-1] if rows else None
        outer = tuple(d for d in free if d not in (row, *value))
        return _Roles(row, value[0] if value else None, outer)


@dataclass(frozen=True)
class _Roles:
    """The loops of the result: over queries, over elements of values, and the others in order.

    None where the extent is 1.
    """

    query: int | None
    value: int | None
    outer: tuple[int, ...]


@dataclass(frozen=True)
class _Builder:
    """Renumbers loops: those of the match become the six of the operation."""

    around: _Around
    scores: Scores
    roles: _Roles
    extents: Sequence[int]

    def build(self, roots: Sequence[Root | None]) -> AttentionMatch | None:
        """Return the match, or None where an operand cannot be read by the six loops."""
        sizes, places = self._loops()
        accesses = []
        for found in roots:
            positions = compose(found.positions, places) if found else ()
            if positions is None:
                return None
            accesses.append(Access(found.value, positions) if found else None)
        written = compose(_loops(self.around.result.shape), places)
        query, key, value, keep, *biases = accesses
        if written is None or query is None or key is None or value is None:
            return None
        attention = Attention(
            query, key, value, keep, biases[0] if biases else None, written, sizes,
            scale=self._scale(roots),
            fill=float("-inf") if self.scores.fill is None else self.scores.fill,
            masked_rows=self.around.softmax.masked_rows,
            fill_last=self.scores.fill_last,
            softcap=self.scores.cap,
        )  # fmt: skip
        if not _elements_fit(attention) or not abs(attention.scale) <= _LARGEST:
            return None
        added = [each for each in biases if each is not None]
        if not all(_elements_fit(replace(attention, bias=each)) for each in added):
            return None
        match = self._with_causal(attention, places)
        terms = zip(added, self.scores.factors, strict=True)
        return replace(match, biases=tuple(terms)) if match else None

    def _scale(self, roots: Sequence[Root | None]) -> float:
        total = self.scores.scale
        for found in roots[:2]:
            total *= found.scale if found else 1.0
        return total * (self.scores.cap or 1.0)

    def _with_causal(
        self, attention: Attention, places: dict[int, Position]
    ) -> AttentionMatch | None:
        products, causal = self.scores.products, self.scores.causal
        if products is None or products.source.operation is None:
            return None
        inverted = self.scores.inverted and self.scores.keep is not None
        emptied = self.around.softmax.emptied_by
        largest = None if emptied is None else emptied.source.operation
        first, last = products.source.operation, self.around.product
        match = AttentionMatch(attention, first, last, inverted, largest)
        if causal is None:
            return match
        query, key = causal.query.substitute(places), causal.key.substitute(places)
        if query is None or key is None:
            return None
        moved = replace(causal, query=query, key=key)
        sizes = attention.sizes
        loops = (Position.of_loop(loop, sizes[loop]) for loop in (QUERY, KEY))
        offset = moved.offset_for(*loops)
        if offset is None:
            return None
        return replace(match, attention=replace(attention, causal_offset=offset))

    def _loops(self) -> tuple[tuple[int, ...], dict[int, Position]]:
        """The extents of the six loops, and what every loop of the match is in terms of them."""
        extents, last = self.extents, self.around.last
        shared = self.roles.outer
        first, heads = (shared[0], shared[1:]) if len(shared) > 1 else (None, shared)
        sizes = [1] * 6
        places = {loop: Position() for loop in range(len(extents))}
        pairs: list[tuple[int, int | None]] = [
            (BATCH, first),
            (QUERY, self.roles.query),
            (KEY, last),
            (KEY_SIZE, last + 1),
            (VALUE_SIZE, self.roles.value),
        ]
        for head in heads:
            sizes[HEAD] *= extents[head]
        for number, loop in pairs:
            if loop is not None:
                sizes[number] = extents[loop]
                places[loop] = Position.of_loop(number, extents[loop])
        rest = Position.of_loop(HEAD, sizes[HEAD])
        for head in reversed(heads):
            parts = rest.split(extents[head])
            if parts is not None:
                rest, places[head] = parts
        return tuple(sizes), places


def _elements_fit(attention: Attention) -> bool:
    """Whether all operands have types that the operation takes; the result's is checked later."""
    kinds = [_element(each.value) for each in attention.operands]
    bias = kinds.pop() if attention.bias else "f32"
    if attention.keep and kinds.pop() != "i1":
        return False
    return len(set(kinds)) == 1 and kinds[0] in _ELEMENTS and bias in (kinds[0], "f32")


def _element(value: ir.Value) -> str:
    return str(ir.RankedTensorType(value.type).element_type)
