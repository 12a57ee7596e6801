# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors made from shapes and numbers."""

from __future__ import annotations

import math

import numpy as np
import onnx
from torch_mlir import ir

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of


@handles("ConstantOfShape")
def constant_of_shape(node: Node) -> Tensor:
    shape = [int(n) for n in node.constant(0).reshape(-1)]
    if min(shape, default=0) < 0:
        raise node.invalid(f"shape {shape} has a negative size")
    value = node.attribute("value")
    array = np.zeros(1, np.float32) if value is None else onnx.numpy_helper.to_array(value)
    if array.size != 1:
        raise node.invalid("attribute 'value' must have one element")
    return Tensor(node.b.fill(shape, array.dtype.name, array.item()), array.dtype.name)


def range_length(node: Node) -> int:
    """Return how many elements a Range has."""
    arrays = [node.constant(position) for position in range(3)]
    if any(array.size != 1 for array in arrays):
        raise node.invalid("start, limit and delta must be scalars")
    start, limit, delta = (array.item() for array in arrays)
    if not delta:
        raise node.invalid("delta is 0")
    if not is_float(arrays[0].dtype.name):
        return max(-((int(start) - int(limit)) // int(delta)), 0)
    return max(math.ceil((float(limit) - float(start)) / float(delta)), 0)


@handles("Range")
def range_(node: Node) -> Tensor:
    """16-bit floats are computed in float32 and rounded."""
    count, dtype = range_length(node), node.constant(0).dtype.name
    start, delta = node.constant(0).item(), node.constant(2).item()
    wide = accumulator_of(dtype)

    def body() -> Scalar:
        step = node.b.index(0).cast("int64").cast(wide)
        return (constant(start, wide) + step * constant(delta, wide)).cast(dtype)

    return node.b.map(body, dtype=dtype, shape=[count])


@handles("EyeLike")
def eye_like(node: Node) -> Tensor:
    x, offset = node.operand(0), node.attribute("k", 0)
    if len(x.shape) != 2:
        raise node.invalid(f"the input has rank {len(x.shape)}, not 2")
    given = node.attribute("dtype")
    dtype = str(x.dtype) if given is None else dtype_name(given, f"node '{node.label}'")

    def body() -> Scalar:
        row, column = (node.b.index(d).cast("int64") for d in range(2))
        return column.equals(row + offset).cast(dtype)

    return node.b.map(body, dtype=dtype, shape=x.shape)


@handles("OneHot")
def one_hot(node: Node) -> Tensor:
    """Indices outside [-depth, depth - 1] give no `on` value, as the operator says."""
    indices, values, b = node.tensor(0), node.tensor(2), node.b
    depths = node.constant(1).reshape(-1)
    if depths.size != 1 or values.shape != (2,):
        raise node.invalid("depth must be one number and values must be two")
    depth = int(depths[0])
    if depth < 0:
        raise node.invalid(f"depth {depth} is negative")
    axis = node.axis(node.attribute("axis", -1), indices.rank, insert=True)
    shape = [*indices.shape[:axis], depth, *indices.shape[axis:]]
    with b.location:
        dims = [ir.AffineDimExpr.get(d) for d in range(len(shape)) if d != axis]
        read = ir.AffineMap.get(len(shape), 0, dims)
        off, on = (
            ir.AffineMap.get(len(shape), 0, [ir.AffineConstantExpr.get(n)]) for n in range(2)
        )

    def body(index: Scalar, cold: Scalar, hot: Scalar, _: Scalar) -> Scalar:
        whole = index.cast("int64")
        wrapped = (whole < 0).select(whole + depth, whole)
        return wrapped.equals(b.index(axis).cast("int64")).select(hot, cold)

    output = (b.empty(shape, values.dtype), values.dtype, b.identity(len(shape)))
    reads = [(indices, read), (values, off), (values, on)]
    return b.generic(reads, [output], ["parallel"] * len(shape), body)[0]


@handles("Trilu")
def trilu(node: Node) -> Tensor:
    x, upper = node.operand(0), bool(node.attribute("upper", 1))
    rank = len(x.shape)
    if rank < 2:
        raise node.invalid(f"the input has rank {rank}, at least 2 is needed")
    diagonal = node.operand(1) if node.has(1) else np.array(0, np.int64)
    if diagonal.shape not in ((), (1,)):
        raise node.invalid("k must be one number")

    def body(v: Scalar, k: Scalar) -> Scalar:
        row, column = (node.b.index(d).cast("int64") for d in (rank - 2, rank - 1))
        kept = column - row >= k if upper else column - row <= k
        return kept.select(v, 0)

    return node.b.map(body, node.b.tensor(x), diagonal, dtype=str(x.dtype))
