# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the precision of a computation: sums and functions of 16-bit floats use f32."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.vector_maps import map_channels
from xyntra.frontends.onnx.node import Node


def accumulator_of(dtype: str) -> str:
    """The dtype to accumulate elements of `dtype` in."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def cast(b: TensorBuilder, x: Tensor, dtype: str) -> Tensor:
    """`x` with another element type, converted as numpy's `astype` does."""
    return x if x.dtype == dtype else b.map(lambda v: v.cast(dtype), x, dtype=dtype)


def map_float(
    b: TensorBuilder, body: Callable[..., Scalar], *operands: Tensor, dtype: str | None = None
) -> Tensor:
    """Apply `body` to every element in the accumulator's precision of the first operand.

    Args:
        b: where to build.
        body: one `Scalar` an operand, all of one dtype -> a `Scalar` of that dtype.
        operands: broadcast by numpy's rule.
        dtype: element type of the result; default that of the first operand.
    """
    wide, narrow = accumulator_of(operands[0].dtype), dtype or operands[0].dtype

    def rounded(*scalars: Scalar) -> Scalar:
        return body(*(scalar.cast(wide) for scalar in scalars)).cast(narrow)

    return b.map(rounded, *operands, dtype=narrow)


def add_channel_bias(node: Node, x: Tensor, position: int, dtype: str) -> Tensor:
    """`x` [N, M, …] plus the node's optional bias [M], rounded to `dtype` once."""
    if not node.has(position):
        return cast(node.b, x, dtype)
    bias = node.tensor(position)
    if bias.shape != (x.shape[1],):
        raise node.invalid(f"the bias has shape {bias.shape}, the result {x.shape[1]} channels")
    return map_channels(
        node.b, lambda v, c: (v + c.cast(v.dtype)).cast(dtype), x, bias, dtype=dtype
    )


def check_vectors(node: Node, positions: Sequence[int], size: int) -> list[Tensor]:
    """The inputs at `positions`, each a vector of `size` elements."""
    vectors = [node.tensor(position) for position in positions]
    for position, vector in zip(positions, vectors, strict=True):
        if vector.shape != (size,):
            raise node.invalid(f"input {position} has shape {vector.shape}, expected ({size},)")
    return vectors
