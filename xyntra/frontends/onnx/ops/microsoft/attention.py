# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention as onnxruntime's optimizer writes it (domain com.microsoft).

Definitions are those of onnxruntime's docs/ContribOperators.md; masks do what its CPU kernels do: a
number, by default -10000, is added to what is padding, and what is causally hidden weighs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from xyntra.dialects import named
from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast, check_vectors
from xyntra.frontends.onnx.ops.nn.matmul import matrix_product
from xyntra.frontends.onnx.ops.quantized.contraction import integer_product
from xyntra.frontends.onnx.ops.quantized.fused import scaled_sums
from xyntra.frontends.onnx.opsets import MICROSOFT

_MASK_FILTER = -10000.0
_BY_POSITION, _BY_HEAD = "bkg", "bgk"


@dataclass(frozen=True)
class _Heads:
    """The operands of attention: a query [batch, positions, heads, size], keys and values.

    `layout` names the first dimensions of keys and values: b batch, k positions, g heads.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    layout: str = _BY_POSITION

    @property
    def keys(self) -> int:
        """The number of keys."""
        return self.key.shape[self.layout.index("k")]

    @property
    def scores(self) -> tuple[int, int, int, int]:
        """The shape of the scores."""
        batch, queries, heads, _ = self.query.shape
        return batch, heads, queries, self.keys


@handles("Attention", domain=MICROSOFT)
def attention(node: Node) -> list[Tensor | None]:
    _refuse(node, "do_rotary", "past_present_share_buffer")
    x, weight = node.tensor(0), node.tensor(1)
    if x.rank != 3 or weight.rank != 2:
        raise node.invalid(f"input {x.shape} and weight {weight.shape} do not fit")
    product = matrix_product(node, x, weight, accumulator_of(x.dtype))
    sizes = [int(n) for n in node.attribute("qkv_hidden_sizes", [])] or [weight.shape[1] // 3] * 3
    if len(sizes) != 3 or sum(sizes) != weight.shape[1]:
        raise node.invalid(f"a weight {weight.shape} does not split into {sizes}")
    if node.has(2):
        (bias,) = check_vectors(node, [2], weight.shape[1])
        product = node.b.map(lambda v, c: v + c.cast(v.dtype), product, bias, dtype=product.dtype)
    return _projected_attention(node, cast(node.b, product, x.dtype), sizes, mask=3, past=4, bias=5)


@handles("QAttention", domain=MICROSOFT)
def quantized_attention(node: Node) -> list[Tensor | None]:
    _refuse(node, "do_rotary", "past_present_share_buffer")
    x, weight = node.tensor(0), node.tensor(1)
    if x.rank != 3 or weight.rank != 2 or weight.shape[1] % 3:
        raise node.invalid(f"input {x.shape} and weight {weight.shape} do not fit")
    total = integer_product(node, x, weight, node.optional(6), node.optional(7))
    product = scaled_sums(node, total, (node.operand(3), node.operand(4)), node.operand(2))
    sizes = [weight.shape[1] // 3] * 3
    return _projected_attention(node, product, sizes, mask=5, past=8, bias=None)


def _refuse(node: Node, *names: str) -> None:
    for name in names:
        if node.attribute(name, 0):
            raise node.unsupported(f"attribute '{name}'")


def _projected_attention(
    node: Node, product: Tensor, sizes: Sequence[int], *, mask: int, past: int, bias: int | None
) -> list[Tensor | None]:
    """Attention among the positions of [batch, positions, sizes of query, key and value]."""
    parts, start = [], 0
    for size in sizes:
        spans = ([0, 0, start], [*product.shape[:2], size], [1, 1, 1])
        parts.append(_split(node, node.b.slice(product, *spans)))
        start += size
    query, key, value = parts
    heads = _Heads(query, key, value)
    before = 0
    if node.has(past):
        cache = node.tensor(past)
        if cache.rank != 5 or cache.shape[0] != 2:
            raise node.invalid(f"the past has shape {cache.shape}")
        earlier = [
            node.b.reshape(
                node.b.slice(cache, [i, 0, 0, 0, 0], [1, *cache.shape[1:]], [1] * 5),
                cache.shape[1:],
            )
            for i in range(2)
        ]
        heads, before = _with_past(node, heads, *earlier), cache.shape[3]
    result = _attend(node, heads, mask=mask, bias=bias, before=before)
    if not _wants(node, 1):
        return [result, None]
    present = [node.b.reshape(x, [1, *x.shape]) for x in _cached(node, heads)]
    return [result, concatenate(node.b, present, 0)]


@handles("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(node: Node) -> list[Tensor | None]:
    if node.has(8) or node.has(9) or _wants(node, 3):
        raise node.unsupported("shared buffers, beams and scores as an output")
    heads, before = _inputs(node), 0
    if node.has(6) != node.has(7):
        raise node.invalid("a past needs both keys and values")
    if node.has(6):
        past = node.tensor(6), node.tensor(7)
        if past[0].rank != 4:
            raise node.invalid(f"the past has shape {past[0].shape}")
        heads, before = _with_past(node, heads, *past), past[0].shape[2]
    result = _attend(node, heads, mask=4, bias=5, before=before)
    caches = _cached(node, heads) if _wants(node, 1) or _wants(node, 2) else [None, None]
    return [result, *caches]


def _wants(node: Node, position: int) -> bool:
    return position < len(node.proto.output) and bool(node.proto.output[position])


def _inputs(node: Node) -> _Heads:
    """Query, key and value of MultiHeadAttention with their bias, in any of their layouts."""
    query = node.tensor(0)
    if query.rank == 5:
        query, key, value = _unpacked(node, query, 3)
        return _Heads(query, key, value)
    if query.rank != 3:
        raise node.invalid(f"the query has shape {query.shape}")
    key = node.tensor(1)
    if key.rank == 5:
        key, value = _unpacked(node, key, 2)
        return _Heads(_split(node, query), key, value)
    value = node.tensor(2)
    if key.rank != value.rank or key.rank not in (3, 4):
        raise node.invalid(f"key {key.shape} and value {value.shape} do not fit")
    if key.rank == 4:
        biased = _biased(node, [query], 0)
        return _Heads(_split(node, biased[0]), key, value, _BY_HEAD)
    query, key, value = (_split(node, x) for x in _biased(node, [query, key, value], 0))
    return _Heads(query, key, value)


def _unpacked(node: Node, packed: Tensor, count: int) -> list[Tensor]:
    """The parts of [batch, positions, heads, count, size]."""
    if node.has(3) or packed.shape[3] != count:
        raise node.unsupported(f"a packed input of shape {packed.shape}, or with a bias")
    batch, length, heads, _, size = packed.shape
    spans = [batch, length, heads, 1, size]
    parts = (node.b.slice(packed, [0, 0, 0, i, 0], spans, [1] * 5) for i in range(count))
    return [node.b.reshape(part, [batch, length, heads, size]) for part in parts]


def _biased(node: Node, parts: list[Tensor], start: int) -> list[Tensor]:
    """Each of `parts` plus its share of the bias."""
    if not node.has(3):
        return parts
    bias, result = node.tensor(3), []
    for part in parts:
        size = part.shape[-1]
        if bias.rank != 1 or bias.shape[0] < start + size:
            raise node.invalid(f"the bias has shape {bias.shape}")
        share = node.b.slice(bias, [start], [size], [1])
        result.append(node.b.map(lambda v, c: v + c, part, share, dtype=part.dtype))
        start += size
    return result


def _split(node: Node, x: Tensor) -> Tensor:
    """[batch, positions, heads * size] with heads as a dimension."""
    heads = int(node.required("num_heads"))
    if heads < 1 or x.shape[2] % heads:
        raise node.invalid(f"a hidden size of {x.shape[2]} does not split into {heads} heads")
    return node.b.reshape(x, [*x.shape[:2], heads, x.shape[2] // heads])


def _with_past(node: Node, heads: _Heads, key: Tensor, value: Tensor) -> _Heads:
    """With earlier keys and values, [batch, heads, positions, size], in front."""
    joined: list[Tensor] = []
    for past, now in zip((key, value), _cached(node, heads), strict=True):
        if (*past.shape[:2], past.shape[3]) != (*now.shape[:2], now.shape[3]):
            raise node.invalid(f"a past of {past.shape} does not fit {now.shape}")
        joined.append(concatenate(node.b, [past, now], 2))
    return _Heads(heads.query, joined[0], joined[1], _BY_HEAD)


def _cached(node: Node, heads: _Heads) -> list[Tensor]:
    """Keys and values as [batch, heads, positions, size]."""
    if heads.layout == _BY_HEAD:
        return [heads.key, heads.value]
    return [node.b.transpose(x, [0, 2, 1, 3]) for x in (heads.key, heads.value)]


def _attend(node: Node, heads: _Heads, *, mask: int, bias: int | None, before: int) -> Tensor:
    """The result, [batch, positions, heads * size]; `before` keys precede the first query."""
    _check(node, heads)
    b, dtype, wide = node.b, heads.query.dtype, accumulator_of(heads.query.dtype)
    layout = heads.layout
    product = b.einsum(f"bqgd,{layout}d->bgqk", heads.query, heads.key, wide)
    # 0 stands for the default.
    scale = float(node.attribute("scale", 0.0)) or 1 / sqrt(heads.query.shape[3])
    added = _added(node, heads, mask, bias)
    scores = b.map(lambda v: v * scale, product, dtype=wide)
    for operand in added:
        scores = b.map(lambda v, a: v + a.cast(wide), scores, operand, dtype=wide)
    if node.attribute("unidirectional", 0):
        scores = _causal(node, scores, before)
    weights = named.softmax(b, scores, 3)
    result = cast(b, b.einsum(f"bgqk,{layout}e->bqge", weights, heads.value, wide), dtype)
    batch, queries, count, size = result.shape
    return b.reshape(result, [batch, queries, count * size])


def _causal(node: Node, scores: Tensor, before: int) -> Tensor:
    """Scores of keys behind the query, which `before` keys precede, become -inf."""
    b = node.b

    def body(value: Scalar) -> Scalar:
        here = b.index(2).cast("int64") + before
        return (b.index(3).cast("int64") <= here).select(value, float("-inf"))

    return b.map(body, scores, dtype=scores.dtype)


def _check(node: Node, heads: _Heads) -> None:
    batch, count, _, keys = heads.scores
    expected = {"b": batch, "g": count, "k": keys}
    for tensor in (heads.key, heads.value):
        if tensor.shape[:3] != tuple(expected[letter] for letter in heads.layout):
            raise node.invalid(f"query {heads.query.shape} and {tensor.shape} do not fit")
    if heads.key.shape[3] != heads.query.shape[3]:
        raise node.invalid(f"query {heads.query.shape} and key {heads.key.shape} do not fit")


def _added(node: Node, heads: _Heads, mask: int, bias: int | None) -> list[Operand]:
    """Return what is added to the scores."""
    result: list[Operand] = []
    if node.has(mask):
        result.append(_mask(node, heads, node.tensor(mask)))
    if bias is not None and node.has(bias):
        result.append(node.tensor(bias))
    for operand in result:
        if broadcast_shapes(operand.shape, heads.scores) != heads.scores:
            raise node.invalid(f"a mask of {operand.shape} does not fit scores {heads.scores}")
    return result


def _mask(node: Node, heads: _Heads, mask: Tensor) -> Tensor:
    """Return what is added for padding, from flags of keys or from where keys begin and end."""
    b, (batch, _, queries, keys) = node.b, heads.scores
    fill = float(node.attribute("mask_filter_value", _MASK_FILTER))
    if mask.shape in ((batch, keys), (batch, queries, keys)):
        shape = [batch, 1, queries if mask.rank == 3 else 1, keys]
        flags = b.reshape(mask, shape)
        return b.map(
            lambda m: (m > 0).select(constant(0.0, "float32"), fill), flags, dtype="float32"
        )
    if mask.rank != 1 or mask.shape[0] not in (batch, 2 * batch, 3 * batch + 2):
        raise node.unsupported(f"a mask of shape {mask.shape}")
    count = 2 if mask.shape[0] == 2 * batch else 1
    limits = [
        b.reshape(b.slice(mask, [i * batch], [batch], [1]), [batch, 1, 1, 1]) for i in range(count)
    ]

    def body(end: Scalar, *start: Scalar) -> Scalar:
        key = b.index(3).cast(end.dtype)
        seen = key < end
        for first in start:
            seen = seen & (key >= first)
        return seen.select(constant(0.0, "float32"), fill)

    return b.map(body, *limits, dtype="float32", shape=[batch, 1, 1, keys])
