# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports NonZero and Compress, whose results are as long as the data says."""

from __future__ import annotations

from math import prod

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Operand, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.compaction import marked_places
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.tensors.gather import take
from xyntra.frontends.onnx.values import Sized


@handles("NonZero")
def non_zero(node: Node) -> Sized:
    """The coordinates of elements that are not zero, NaN among them: one column for each.

    Of a number without dimensions these are columns without rows, one or none.
    """
    x, b = node.tensor(0), node.b
    marks = b.map(lambda v: v.cast("bool"), b.reshape(x, [prod(x.shape)]), dtype="bool")
    places, count = marked_places(b, marks)
    if not x.rank:
        return Sized(Tensor(b.empty([0, 1], "int64"), "int64"), {1: count})
    return Sized(_coordinates(b, places, x.shape), {1: count})


def _coordinates(b: TensorBuilder, places: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Row-major positions as coordinates: a row for each dimension of `shape`."""
    strides = [max(prod(shape[d + 1 :]), 1) for d in range(len(shape))]
    sizes = [max(n, 1) for n in shape]
    factors = [b.constant(np.array(each, np.int64)) for each in (strides, sizes)]
    with b.location:
        row, column = (ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(d)]) for d in range(2))

    def body(place: Scalar, stride: Scalar, size: Scalar, _: Scalar) -> Scalar:
        return place / stride % size

    result = [len(shape), places.shape[0]]
    output = (b.empty(result, "int64"), "int64", b.identity(2))
    reads = [(places, column), (factors[0], row), (factors[1], row)]
    return b.generic(reads, [output], ["parallel"] * 2, body)[0]


@handles("Compress")
def compress(node: Node) -> Operand | Sized:
    """The elements, or slices, at which a condition holds; one that is known tells how many."""
    x, condition = node.tensor(0), node.operand(1)
    axis = node.attribute("axis")
    if axis is None:
        x, axis = node.b.reshape(x, [prod(x.shape)]), 0
    axis = node.axis(axis, x.rank)
    length = prod(condition.shape)
    if length > x.shape[axis]:
        raise node.invalid(f"the condition is longer than the axis of {x.shape[axis]}")
    if isinstance(condition, np.ndarray):
        return take(node.b, x, np.flatnonzero(condition), axis)
    places, count = marked_places(node.b, node.b.reshape(condition, [length]))
    return Sized(take(node.b, x, places, axis), {axis: count})
