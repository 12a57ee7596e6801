# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the bias that hides keys from a query: masks, causality, windows and padding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xyntra.dialects.builder import Operand, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.node import Node

MASK, PAST_KEY, LENGTHS = 3, 4, 6
"""Positions of inputs of the operator."""


@dataclass(frozen=True)
class Positions:
    """The keys that a query may see by its position alone.

    Query i stands at position i + offset. Attributes:
        queries: number of queries.
        keys: number of keys.
        offset: number of keys before the first query.
        causal: whether keys behind the query are hidden.
        left: how many keys before the query are seen, or -1 for all.
        right: how many behind it, or -1 for all.
    """

    queries: int
    keys: int
    offset: int
    causal: bool
    left: int
    right: int

    @staticmethod
    def of(node: Node, queries: int, keys: int, offset: int) -> Positions:
        """Return what the node's attributes say."""
        left, right = (int(node.attribute(f"{s}_window_size", -1)) for s in ("left", "right"))
        if min(left, right) < -1:
            raise node.invalid(f"window sizes {left} and {right}")
        causal = bool(node.attribute("is_causal", 0))
        return Positions(queries, keys, offset, causal, left, right)

    @property
    def windowed(self) -> bool:
        """Tell whether a window limits what is seen."""
        return self.left >= 0 or self.right >= 0

    def seen(self, b: TensorBuilder, rank: int, offset: Scalar | None = None) -> Scalar:
        """Tell whether the query of the last loop but one sees the key of the last; only in a body.

        `offset`, an int64, replaces the number of keys before the first query.
        """
        first = constant(self.offset, "int64") if offset is None else offset
        here = b.index(rank - 2).cast("int64") + first
        key = b.index(rank - 1).cast("int64")
        result = constant(True, "bool")
        if self.causal:
            result = result & (key <= here)
        if self.left >= 0:
            result = result & (key >= here - self.left)
        if self.right >= 0:
            result = result & (key <= here + self.right)
        return result


def masks_positions(node: Node) -> bool:
    """Tell whether a row may have no key to attend to: there are masks beyond causality."""
    windows = any(int(node.attribute(f"{s}_window_size", -1)) >= 0 for s in ("left", "right"))
    return node.has(MASK) or node.has(LENGTHS) or windows


def attention_bias(
    node: Node, positions: Positions, groups: int, shared: int | None, dtype: str
) -> Tensor:
    """Return what is added to the scores: -inf hides a key.

    Args:
        node: the operator.
        positions: what positions alone hide.
        groups: groups of heads that share keys.
        shared: heads of a group, where that is a dimension of the scores.
        dtype: of the result.

    Returns:
        A tensor that broadcasts to the scores, [batch, groups, queries, keys] or
        [batch, groups, shared, queries, keys].
    """
    rank = 4 if shared is None else 5
    operands: list[Operand] = []
    if node.has(MASK):
        operands.append(_mask(node, positions.keys, groups, shared))
    if node.has(LENGTHS):
        operands.append(_lengths(node, rank))
    tail = (1,) * (rank - 2) + (positions.queries, positions.keys)
    shape = broadcast_shapes(tail, *(operand.shape for operand in operands))

    def body(*scalars: Scalar) -> Scalar:
        rest = list(scalars)
        bias = constant(0, dtype)
        if node.has(MASK):
            mask = rest.pop(0)
            bias = mask.select(bias, float("-inf")) if mask.dtype == "bool" else mask.cast(dtype)
        seen, offset = constant(True, "bool"), None
        if node.has(LENGTHS):
            length = rest.pop(0)
            seen = node.b.index(rank - 1).cast("int64") < length
            offset = length - positions.queries
        if positions.causal or positions.windowed:
            seen = seen & positions.seen(node.b, rank, offset)
        return seen.select(bias, float("-inf"))

    return node.b.map(body, *operands, dtype=dtype, shape=shape)


def _mask(node: Node, keys: int, groups: int, shared: int | None) -> Tensor:
    """The mask with dimensions [batch, groups, (shared,) queries, keys], some of size 1."""
    mask = node.tensor(MASK)
    if not 1 <= mask.rank <= 4 or mask.shape[-1] > keys:
        raise node.invalid(f"a mask of shape {mask.shape} for {keys} keys")
    missing = keys - mask.shape[-1]
    hidden = False if mask.dtype == "bool" else float("-inf")
    mask = node.b.pad(mask, [0] * mask.rank, [0] * (mask.rank - 1) + [missing], hidden)
    shape = [1] * (4 - mask.rank) + list(mask.shape)
    if shared is not None:
        shape[1:2] = [1, 1] if shape[1] == 1 else [groups, shared]
    return node.b.reshape(mask, shape)


def _lengths(node: Node, rank: int) -> Operand:
    """The number of valid keys by batch, as [batch, 1, 1, 1]."""
    lengths = node.operand(LENGTHS)
    if len(lengths.shape) != 1:
        raise node.invalid(f"nonpad_kv_seqlen has shape {lengths.shape}")
    shape = (lengths.shape[0],) + (1,) * (rank - 1)
    if isinstance(lengths, np.ndarray):
        return lengths.reshape(shape)
    return node.b.reshape(lengths, shape)
