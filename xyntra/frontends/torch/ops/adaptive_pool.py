# SPDX-License-Identifier: MIT OR Apache-2.0
"""Poolings of which the windows of a dimension differ in length, and the gradient of their means.

Window o of n of an adaptive pooling reads elements floor(o * size / n) to ceil((o + 1) * size / n)
of its dimension; where n does not divide the size, windows differ in length and overlap. Windows of
other poolings are cut off at the edges of the image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.onnx.ops.reductions.arg_extreme import arg_extreme
from xyntra.frontends.onnx.ops.tensors.gather import take
from xyntra.frontends.weight_types import dtype_of

__all__ = ["averaged", "averaged_back", "maxima", "summed", "summed_back", "windows_of"]

Windows = Sequence[Sequence[range]]
"""The elements that each window reads, for each of the last dimensions."""


def windows_of(
    sizes: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    kernel: Sequence[int],
) -> Windows:
    """Return the windows of a pooling, without what lies in the padding."""
    return [
        [range(max(o * s - p, 0), min(o * s - p + k, size)) for o in range(count)]
        for size, count, s, p, k in zip(sizes, counts, strides, pads, kernel, strict=True)
    ]


def summed(b: TensorBuilder, x: Tensor, windows: Windows) -> Tensor:
    """Return the sums of windows of the last dimensions, in the accumulator's dtype."""
    found = _wide(b, x)
    for axis, own in enumerate(windows, x.rank - len(windows)):
        found = _summed(b, found, axis, own)
    return found


def summed_back(b: TensorBuilder, grad: Tensor, windows: Windows, sizes: Sequence[int]) -> Tensor:
    """Return the gradient of `summed` for images whose last dimensions have `sizes`."""
    found = _wide(b, grad)
    for axis, own in enumerate(windows, grad.rank - len(windows)):
        size = sizes[axis - grad.rank]
        readers = [[o for o, window in enumerate(own) if n in window] for n in range(size)]
        found = _summed(b, found, axis, readers)
    return found


def maxima(b: TensorBuilder, x: Tensor, counts: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the maxima of adaptive windows, and their flat places in the last dimensions."""
    outer, sizes = x.shape[: x.rank - len(counts)], x.shape[x.rank - len(counts) :]
    tables = []
    for size, count in zip(sizes, counts, strict=True):
        windows = _windows(size, count)
        most = max(map(len, windows))
        # The last element again, where a window is short: the first of equal ones counts.
        tables.append(np.array([[*w, *[w[-1]] * (most - len(w))] for w in windows], np.int64))
    found = x
    for number, table in enumerate(tables):
        found = take(b, found, table, len(outer) + 2 * number)
    first = range(len(outer), found.rank, 2)
    found = b.transpose(found, [*range(len(outer)), *first, *(d + 1 for d in first)])
    length = int(np.prod([table.shape[1] for table in tables]))
    rows = b.reshape(found, [*outer, *counts, length])
    flat = np.zeros([1] * (2 * len(tables)), np.int64)
    for number, (table, size) in enumerate(zip(tables, sizes, strict=True)):
        shape = [1] * (2 * len(tables))
        shape[number], shape[len(tables) + number] = table.shape
        flat = flat * size + table.reshape(shape)
    local = arg_extreme(b, rows, rows.rank - 1, largest=True)

    def entry(place: Scalar) -> Scalar:
        window = b.index(len(outer))
        for d, count in enumerate(counts[1:], len(outer) + 1):
            window = window * count + b.index(d)
        return (window * length).cast("int64") + place

    places = take(b, b.tensor(flat.reshape(-1)), b.map(entry, local, dtype="int64"), 0)
    return b.reduce(rows, [rows.rank - 1], "max", keepdims=False), places


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
    windows = [_windows(n, grad.shape[axis]) for axis, n in enumerate(sizes, first)]
    for axis, own in enumerate(windows, first):
        found = _divided(b, found, axis, [len(w) for w in own])
    found = summed_back(b, found, windows, sizes)
    return b.map(lambda v: v.cast(grad.dtype), found, dtype=grad.dtype)


def _windows(size: int, count: int) -> list[range]:
    return [range(o * size // count, -(-(o + 1) * size // count)) for o in range(count)]


def _wide(b: TensorBuilder, x: Tensor) -> Tensor:
    wide = accumulator_of(x.dtype)
    return b.map(lambda v: v.cast(wide), x, dtype=wide)


def _summed(b: TensorBuilder, x: Tensor, axis: int, places: Sequence[Sequence[int]]) -> Tensor:
    """Return, along a dimension, the sums of the elements at each list of places."""
    most = max(1, *map(len, places))
    filled = [[*each, *[each[0] if each else 0] * (most - len(each))] for each in places]
    indices = np.array(filled, np.int64)
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
