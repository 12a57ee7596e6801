# SPDX-License-Identifier: MIT OR Apache-2.0
"""Indices that come with the data: negative ones count from the end, and none may leave its tensor.

An index that is out of range makes onnxruntime stop. A kernel cannot stop, so what it would have
read is NaN for floating-point elements and 0 for others, and what it would have written is dropped.
Indices that are known at compile time are checked then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.node import Node


def checked_indices(node: Node, indices: Operand, size: int | Sequence[int]) -> Operand:
    """Constant `indices` as non-negative numbers; others as they are.

    Args:
        node: the node that uses them.
        indices: a tensor or an array of integers.
        size: what they must be below: one number, or one for each element of the last dimension.

    Raises:
        ModelError: a constant index is out of range.
    """
    if isinstance(indices, Tensor):
        return indices
    limit = np.asarray(size, np.int64)
    outside = (indices < -limit) | (indices >= limit)
    if outside.any():
        worst = int(indices[outside].reshape(-1)[0])
        raise node.invalid(f"index {worst} is out of range for a dimension of {size}")
    return np.where(indices < 0, indices + limit, indices).astype(np.int64)


def address(index: Scalar, size: int) -> tuple[Scalar, Scalar]:
    """A valid position (dtype `index`) for any `index`, and whether it is the one meant."""
    wide = index.cast("int64")
    wrapped = (wide < 0).select(wide + size, wide)
    inside = wrapped.cast("uint64") < size
    return inside.select(wrapped, 0).cast("index"), inside


def missing(dtype: str) -> Scalar:
    """Return what stands for an element that does not exist."""
    return constant(float("nan") if is_float(dtype) else 0, dtype)
