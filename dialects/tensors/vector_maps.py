# SPDX-License-Identifier: MIT OR Apache-2.0
"""Elementwise operations with vectors that run along one dimension each, such as channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar

__all__ = ["map_channels", "map_vectors"]


def map_vectors(
    b: TensorBuilder,
    body: Callable[..., Scalar],
    vectors: Sequence[tuple[Tensor, int]],
    shape: Sequence[int],
    dtype: str,
    *,
    whole: Sequence[Tensor] = (),
) -> Tensor:
    """Compute every element of a tensor from elements of vectors.

    Args:
        b: where to build.
        body: one `Scalar` of each tensor of `whole` and then of each vector -> one of `dtype`.
        vectors: with the dimension of `shape` along which each runs.
        shape: that of the result.
        dtype: element type of the result.
        whole: tensors of that shape.
    """
    rank = len(shape)
    with b.location:
        inputs = [(tensor, b.identity(rank)) for tensor in whole]
        inputs += [
            (vector, ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(axis)]))
            for vector, axis in vectors
        ]
    output = (b.empty(shape, dtype), dtype, b.identity(rank))
    return b.generic(inputs, [output], ["parallel"] * rank, lambda *s: body(*s[:-1]))[0]


def map_channels(
    b: TensorBuilder,
    body: Callable[..., Scalar],
    x: Tensor,
    *vectors: Tensor,
    axis: int = 1,
    dtype: str | None = None,
) -> Tensor:
    """Apply `body` to every element of `x` and the elements of `vectors` for its channel.

    Args:
        b: where to build.
        body: a `Scalar` of `x` and one of each vector -> a `Scalar` of the result's dtype.
        x: any shape.
        vectors: each has the size of dimension `axis` of `x`.
        axis: where the channels of `x` are.
        dtype: element type of the result; default that of `x`.
    """
    along = [(vector, axis) for vector in vectors]
    return map_vectors(b, body, along, x.shape, dtype or x.dtype, whole=[x])
