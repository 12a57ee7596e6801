# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.attention` as linalg on tensors: a contraction, the softmax of its rows, a contraction.

Holds all scores at once, in the dtype that is computed in. The softmax of 16-bit values may be
rounded to their type, as kernels of attention do, so that matrix units multiply by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from xyntra.dialects.attention import Access, Attention
from xyntra.dialects.attention_layout import BATCH, HEAD, KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.positions import Position, to_map

__all__ = ["decompose_attention"]

_ROWS = (BATCH, HEAD, QUERY)


def decompose_attention(op: ir.Operation, b: TensorBuilder, *, narrow: bool = False) -> Tensor:
    """Build what `op` computes with `b`; the shapes are static.

    Args:
        op: the attention.
        b: where to build.
        narrow: round the softmax to the type of the values.
    """
    parts = _Parts(Attention.of(op), b)
    kept = parts.dtype if narrow else parts.wide
    scores = parts.scores()
    top = b.reduce(scores, [3], "max")
    exponents = b.map(lambda x, m: (x - m).exp_at_most_zero(), scores, top, dtype=parts.wide)
    total = b.reduce(exponents, [3], "sum")
    probabilities = b.map(
        lambda *scalars: parts.divide(*scalars).cast(kept), exponents, total, top, dtype=kept
    )
    values = parts.load(parts.op.value, (BATCH, HEAD, KEY, VALUE_SIZE))
    result = b.einsum("bhst,bhte->bhse", probabilities, values, parts.wide)
    finished = b.map(lambda x: x.cast(parts.dtype), result, dtype=parts.dtype)
    return _written(b, finished, parts.op, ir.RankedTensorType(op.results[0].type).shape)


@dataclass(frozen=True)
class _Parts:
    op: Attention
    b: TensorBuilder

    @property
    def dtype(self) -> str:
        return default_dtype(ir.RankedTensorType(self.op.query.value.type).element_type)

    @property
    def wide(self) -> str:
        """The dtype to compute in."""
        return "float64" if self.dtype == "float64" else "float32"

    def load(self, access: Access, loops: tuple[int, ...]) -> Tensor:
        """The operand with one dimension for each of `loops`."""
        source = Tensor.of(access.value)
        places = {loop: Position.of_loop(i, self.op.sizes[loop]) for i, loop in enumerate(loops)}
        found = [position.substitute(places) for position in access.positions]
        shape = [self.op.sizes[loop] for loop in loops]
        known = [each for each in found if each is not None]
        with self.b.location:
            results = to_map(known, shape).results
        # Of a cache with room for more, the rest is left out: a loop alone takes a whole dimension.
        read = [
            each.last + 1 if isinstance(result, ir.AffineDimExpr) else size
            for each, result, size in zip(known, results, source.shape, strict=True)
        ]
        source = self.b.slice(source, [0] * source.rank, read, [1] * source.rank)
        if _keeps_order(results, source.shape, shape):
            return self.b.reshape(source, shape)
        return self.b.view(source, shape, lambda *_: list(results))

    def scores(self) -> Tensor:
        """The masked scores, [b, h, s, t]."""
        op, b = self.op, self.b
        query = self.load(op.query, (BATCH, HEAD, QUERY, KEY_SIZE))
        key = self.load(op.key, (BATCH, HEAD, KEY, KEY_SIZE))
        products = b.einsum("bhsd,bhtd->bhst", query, key, self.wide)
        masks = [self.load(each, (*_ROWS, KEY)) for each in (op.keep, op.bias) if each]

        def body(product: Scalar, *rest: Scalar) -> Scalar:
            score = product * op.scale
            if op.softcap:
                score = (score / op.softcap).math("tanh") * op.softcap
            bias = None if op.bias is None else rest[-1].cast(self.wide)
            if bias is not None and op.fill_last:
                score = score + bias
            if op.keep is not None:
                score = rest[0].select(score, op.fill)
            if op.causal_offset is not None:
                score = self._seen(op.causal_offset).select(score, op.fill)
            return score if bias is None or op.fill_last else score + bias

        return b.map(body, products, *masks, dtype=self.wide)

    def _seen(self, offset: int) -> Scalar:
        row, key = (self.b.index(d).cast("int64") for d in (2, 3))
        return key <= row + offset

    def divide(self, exponent: Scalar, total: Scalar, top: Scalar) -> Scalar:
        """A probability, with the clean-up of NaN that the operation asks for."""
        probability = exponent / total
        if self.op.masked_rows == "nan":
            return probability
        is_empty = top.equals(float("-inf"))
        is_bad = probability.is_nan() if self.op.masked_rows == "zero" else is_empty
        return is_bad.select(constant(0.0, self.wide), probability)


def _keeps_order(
    results: Sequence[ir.AffineExpr], stored: Sequence[int], shape: Sequence[int]
) -> bool:
    """Tell whether loops walk through all of a tensor in the order in which it is stored."""
    walked = [each for each, size in zip(results, stored, strict=True) if size > 1]
    if not all(isinstance(each, ir.AffineDimExpr) for each in walked):
        return False
    found = [ir.AffineDimExpr(each).position for each in walked]
    return found == [loop for loop, size in enumerate(shape) if size > 1]


def _written(b: TensorBuilder, source: Tensor, op: Attention, shape: list[int]) -> Tensor:
    """Bring [b, h, s, e] into the layout of the result."""
    linear = Position()
    for position, size in zip(op.written, shape, strict=True):
        linear = linear * size + position
    digits = [d for d, _ in sorted(linear.terms, key=lambda term: -term[1])]
    loops = [*_ROWS, VALUE_SIZE]
    order = sorted(digits, key=lambda d: (loops.index(d.loop), -d.divisor))
    split = b.reshape(source, [d.extent for d in order])
    moved = b.transpose(split, [order.index(d) for d in digits])
    return b.reshape(moved, list(shape))
