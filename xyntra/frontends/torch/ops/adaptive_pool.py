# SPDX-License-Identifier: MIT OR Apache-2.0
"""Adaptive average pooling and its gradient, for windows of several sizes.

Window o of n reads elements floor(o * size / n) to ceil((o + 1) * size / n) of its dimension; where
n does not divide the size, windows differ in length and overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.onnx.ops.tensors.gather import take
from xyntra.frontends.weight_types import dtype_of

__all__ = ["averaged", "averaged_back"]


def averaged(b: TensorBuilder, x: Tensor, counts: Sequence[int]) -> Tensor:
    """Return the means of windows, of which there are `counts` in the last dimensions."""
    found, first = _wide(b, x), x.rank - len(counts)
    for axis, count in enumerate(counts, first):
        windows = _windows(x.shape[axis], count)
        found = _divided(b, _summed(b, found, axis, windows), axis, [len(w) for w in windows])
    return b.map(lambda v: v.cast(x.dtype), found, dtype=x.dtype)


def averaged_back(b: TensorBuilder, grad: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the gradient of `averaged` for images whose last dimensions have `sizes`."""
    found, first = _wide(b, grad), grad.rank - len(sizes)
    for axis, size in enumerate(sizes, first):
        windows = _windows(size, grad.shape[axis])
        divided = _divided(b, found, axis, [len(w) for w in windows])
        readers = [[o for o, window in enumerate(windows) if n in window] for n in range(size)]
        found = _summed(b, divided, axis, readers)
    return b.map(lambda v: v.cast(grad.dtype), found, dtype=grad.dtype)


def _windows(size: int, count: int) -> list[range]:
    return [range(o * size // count, -(-(o + 1) * size // count)) for o in range(count)]


def _wide(b: TensorBuilder, x: Tensor) -> Tensor:
    wide = accumulator_of(x.dtype)
    return b.map(lambda v: v.cast(wide), x, dtype=wide)


def _summed(b: TensorBuilder, x: Tensor, axis: int, places: Sequence[Sequence[int]]) -> Tensor:
    """Return, along a dimension, the sums of the elements at each list of places."""
    most = max(map(len, places))
    indices = np.array([[*each, *[each[0]] * (most - len(each))] for each in places], np.int64)
    counted = np.array([[n < len(each) for n in range(most)] for each in places])
    rows = take(b, x, indices, axis)
    if not counted.all():
        shape = (1,) * axis + counted.shape + (1,) * (x.rank - axis - 1)
        rows = b.map(_where, rows, counted.reshape(shape), dtype=x.dtype)
    return b.reduce(rows, [axis + 1], "sum", keepdims=False)


def _where(value: Scalar, counts: Scalar) -> Scalar:
    """Choose rather than multiply: an infinity beside a window is no part of it."""
    return counts.select(value, 0.0)


def _divided(b: TensorBuilder, x: Tensor, axis: int, lengths: Sequence[int]) -> Tensor:
    shape = [-1 if d == axis else 1 for d in range(x.rank)]
    divisors = np.array(lengths, dtype_of(x.dtype)).reshape(shape)
    return b.map(lambda v, n: v / n, x, divisors, dtype=x.dtype)
