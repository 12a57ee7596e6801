# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions along axes.

16-bit floats accumulate in float32. NaN propagates through maxima and minima, as in numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.reductions import Reduction
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.arithmetic import divide
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast

Map = Callable[[Scalar], Scalar]


def reduction_axes(node: Node, rank: int) -> list[int]:
    """The dimensions to reduce: attribute or input `axes`, by default all of them."""
    values = node.integers("axes", 1)
    if values:
        return node.axes(values, rank)
    return [] if node.attribute("noop_with_empty_axes", 0) else list(range(rank))


def _reduce(
    node: Node,
    kind: Reduction,
    *,
    element: Map | None = None,
    finish: Map | None = None,
) -> Tensor:
    """Reduce the first input; `finish` is applied to every result in the accumulator's dtype.

    With `noop_with_empty_axes` and no axes, every element is a reduction of its own.
    """
    x = node.tensor(0)
    keepdims = bool(node.attribute("keepdims", 1))
    total = node.b.reduce(
        x,
        reduction_axes(node, x.rank),
        kind,
        keepdims=keepdims,
        accumulator=accumulator_of(x.dtype),
        element=element,
    )
    if finish is None:
        return cast(node.b, total, x.dtype)
    last = finish
    return node.b.map(lambda v: last(v).cast(x.dtype), total, dtype=x.dtype)


def _floating(function: str) -> Map:
    """A function of the math dialect; integers go through float64."""

    def body(v: Scalar) -> Scalar:
        return (v if is_float(v.dtype) else v.cast("float64")).math(function)

    return body


@handles("ReduceSum")
def reduce_sum(node: Node) -> Tensor:
    return _reduce(node, "sum")


@handles("ReduceProd")
def reduce_prod(node: Node) -> Tensor:
    return _reduce(node, "prod")


@handles("ReduceMax")
def reduce_max(node: Node) -> Tensor:
    return _reduce(node, "max")


@handles("ReduceMin")
def reduce_min(node: Node) -> Tensor:
    return _reduce(node, "min")


@handles("ReduceMean")
def reduce_mean(node: Node) -> Tensor:
    """Means of integers truncate. The mean of no elements is NaN, or 0 for integers."""
    x = node.tensor(0)
    count = prod(x.shape[axis] for axis in reduction_axes(node, x.rank))

    def body(total: Scalar) -> Scalar:
        if is_float(total.dtype):
            return total / count
        return divide(total, constant(count, total.dtype))

    return _reduce(node, "sum", finish=body)


@handles("ReduceL1")
def reduce_l1(node: Node) -> Tensor:
    return _reduce(node, "sum", element=Scalar.absolute)


@handles("ReduceL2")
def reduce_l2(node: Node) -> Tensor:
    return _reduce(node, "sum", element=lambda v: v * v, finish=_floating("sqrt"))


@handles("ReduceSumSquare")
def reduce_sum_square(node: Node) -> Tensor:
    return _reduce(node, "sum", element=lambda v: v * v)


@handles("ReduceLogSum")
def reduce_log_sum(node: Node) -> Tensor:
    return _reduce(node, "sum", finish=_floating("log"))


@handles("ReduceLogSumExp")
def reduce_log_sum_exp(node: Node) -> Tensor:
    """log(sum(exp(x - m))) + m with m the finite maximum, so that nothing overflows."""
    x, b = node.tensor(0), node.b
    wide = cast(b, x, accumulator_of(x.dtype) if is_float(x.dtype) else "float64")
    axes = reduction_axes(node, x.rank)
    infinite = float("inf")
    peak = b.map(
        lambda m: (m.absolute() < infinite).select(m, 0),
        b.reduce(wide, axes, "max"),
        dtype=wide.dtype,
    )
    shifted = b.map(lambda v, m: (v - m).math("exp"), wide, peak, dtype=wide.dtype)
    total = b.reduce(shifted, axes, "sum")
    result = b.map(lambda s, m: (s.math("log") + m).cast(x.dtype), total, peak, dtype=x.dtype)
    if node.attribute("keepdims", 1):
        return result
    return b.reshape(result, [n for d, n in enumerate(x.shape) if d not in axes])
