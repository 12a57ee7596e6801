# SPDX-License-Identifier: MIT OR Apache-2.0
"""Embeddings as onnxruntime's optimizer writes them (domain com.microsoft)."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects import named
from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import check_vectors, map_float
from xyntra.frontends.onnx.ops.tensors.gather import take
from xyntra.frontends.onnx.ops.tensors.indices import checked_indices
from xyntra.frontends.onnx.opsets import MICROSOFT


@handles("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_norm(node: Node) -> list[Tensor | None]:
    b, words = node.b, _looked_up(node, 2, node.operand(0))
    if words.rank != 3:
        raise node.invalid(f"the words have shape {words.shape}")
    batch, length, hidden = words.shape
    terms = [words, _positions(node, length)]
    if node.has(1) and node.has(4):
        terms.append(_looked_up(node, 4, node.operand(1)))
    total = map_float(b, _sum_of, *terms)
    if total.shape != words.shape:
        raise node.invalid(f"embeddings have shapes {[term.shape for term in terms]}")
    scale, shift = check_vectors(node, [5, 6], hidden)
    epsilon = float(node.attribute("epsilon", 1e-12))
    result = named.layer_norm(b, total, 2, epsilon, scale, shift)
    return [result, _lengths(node, batch), total]


def _sum_of(first: Scalar, *others: Scalar) -> Scalar:
    for other in others:
        first = first + other
    return first


def _looked_up(node: Node, position: int, indices: Operand) -> Tensor:
    """Rows of the table at `position`."""
    table = node.tensor(position)
    if table.rank != 2:
        raise node.invalid(f"input {position} has shape {table.shape}, expected a table")
    return take(node.b, table, checked_indices(node, indices, table.shape[0]), 0)


def _positions(node: Node, length: int) -> Tensor:
    """The rows of the table of positions, [1 or batch, length, hidden]."""
    if node.has(8):
        return _looked_up(node, 3, node.operand(8))
    table = node.tensor(3)
    if table.rank != 2 or table.shape[0] < length:
        raise node.invalid(f"{table.shape} has no {length} positions")
    rows = node.b.slice(table, [0, 0], [length, table.shape[1]], [1, 1])
    return node.b.reshape(rows, [1, *rows.shape])


def _lengths(node: Node, batch: int) -> Tensor | None:
    """Return how many flags of each sequence are 1; 0 where there is no mask."""
    if len(node.proto.output) < 2 or not node.proto.output[1]:
        return None
    b = node.b
    if not node.has(7):
        return Tensor(b.fill([batch], "int32", 0), "int32")
    ones = b.map(lambda m: m.equals(1).cast("int32"), node.tensor(7), dtype="int32")
    return b.reshape(b.reduce(ones, [1], "sum"), [batch])


@handles("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(node: Node) -> Tensor:
    if node.attribute("is_packed_batching", 0) or float(node.attribute("scale", 1.0)) != 1.0:
        raise node.unsupported("packed batches and scales")
    x = node.tensor(0)
    if x.rank == 4:
        return _rotate(node, x, by_head=True)
    width = 2 * node.tensor(2).shape[-1]
    heads = int(node.attribute("num_heads", 0)) or x.shape[-1] // max(width, 1)
    if x.rank != 3 or heads < 1 or x.shape[2] % heads:
        raise node.invalid(f"input {x.shape} does not split into {heads} heads")
    split = node.b.reshape(x, [*x.shape[:2], heads, x.shape[2] // heads])
    return node.b.reshape(_rotate(node, split, by_head=False), x.shape)


def _rotate(node: Node, x: Tensor, *, by_head: bool) -> Tensor:
    """Rotate pairs of the last dimension, by the angle of each position and pair.

    Args:
        node: the operator.
        x: [batch, heads, positions, size], or with heads behind positions.
        by_head: whether heads come first.
    """
    where = _where(node, x.shape[2 if by_head else 1])
    cosine, sine = (angles(node, position, where, by_head=by_head) for position in (2, 3))
    return rotated(node, x, cosine, sine)


def rotated(node: Node, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """`x`, of four dimensions, with pairs of the last one rotated; attributes tell which they are.

    Args:
        node: the operator.
        x: what is rotated.
        cosine: of each angle, broadcast to the pairs of `x`.
        sine: likewise.
    """
    half = cosine.shape[-1]
    if 2 * half > x.shape[3]:
        raise node.invalid(f"{half} angles do not fit heads of size {x.shape[3]}")
    first, second = _halves(node, x, half)
    b = node.b
    turned = [
        b.map(lambda v, w, c, s: v * c - w * s, first, second, cosine, sine, dtype=x.dtype),
        b.map(lambda v, w, c, s: w * c + v * s, first, second, cosine, sine, dtype=x.dtype),
    ]
    if _is_interleaved(node):
        pairs = [b.reshape(part, [*part.shape, 1]) for part in turned]
        turned = [b.reshape(concatenate(b, pairs, 4), [*x.shape[:3], 2 * half])]
    rest = x.shape[3] - 2 * half
    if rest:
        turned.append(b.slice(x, [0, 0, 0, 2 * half], [*x.shape[:3], rest], [1] * 4))
    return concatenate(b, turned, 3) if len(turned) > 1 else turned[0]


def _is_interleaved(node: Node) -> bool:
    return bool(node.attribute("interleaved", 0) or node.attribute("rotary_interleaved", 0))


def _halves(node: Node, x: Tensor, half: int) -> Sequence[Tensor]:
    """The first and the second numbers of all pairs."""
    step = 2 if _is_interleaved(node) else 1
    starts = (0, 1) if step == 2 else (0, half)
    shape = [*x.shape[:3], half]
    return [node.b.slice(x, [0, 0, 0, start], shape, [1, 1, 1, step]) for start in starts]


def _where(node: Node, length: int) -> Operand:
    """The position of every query, [1 or batch, length]."""
    where = node.operand(1)
    if where.shape == (1,):
        b, first = node.b, node.b.tensor(where)
        where = b.map(
            lambda v: v + b.index(1).cast(v.dtype), first, dtype="int64", shape=[1, length]
        )
    if len(where.shape) != 2 or where.shape[1] != length:
        raise node.invalid(f"positions have shape {where.shape}")
    return where


def angles(node: Node, position: int, where: Operand, *, by_head: bool) -> Tensor:
    """Rows of a table of angles at positions, with heads as a dimension of size 1."""
    rows = _looked_up(node, position, where)
    shape = [rows.shape[0], where.shape[1], rows.shape[2]]
    shape.insert(1 if by_head else 2, 1)
    return node.b.reshape(rows, shape)
