# SPDX-License-Identifier: MIT OR Apache-2.0
"""Positions of the largest or smallest elements."""

from __future__ import annotations

from math import prod

from torch_mlir import ir

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.reductions import identity_of
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import cast

_LONG = 12  # elements of a row that pay for looking at it twice


def arg_extreme(
    b: TensorBuilder, x: Tensor, axis: int, *, largest: bool, last: bool = False
) -> Tensor:
    """Positions (int64) of the extreme along `axis`, which the result lacks.

    Among equals the first counts, or the last one. The first NaN wins over every number.

    Args:
        b: where to build.
        x: at least one element along `axis`.
        axis: a dimension of `x`.
        largest: look for the maximum; otherwise for the minimum.
        last: take the last of equal elements.
    """
    kept = [d for d in range(x.rank) if d != axis]
    shape = [x.shape[d] for d in kept]
    if x.shape[axis] == 1:
        return Tensor(b.fill(shape, "int64", 0), "int64")
    if axis < x.rank - 1 and prod(x.shape[axis + 1 :]) == 1:
        rows = b.reshape(x, x.shape[: axis + 1])
        return b.reshape(arg_extreme(b, rows, axis, largest=largest, last=last), shape)
    if axis == x.rank - 1 and not last and _LONG <= x.shape[axis] < 1 << 31:
        return _first_equal(b, x, largest)
    with b.location:
        write = ir.AffineMap.get(x.rank, 0, [ir.AffineDimExpr.get(d) for d in kept])
    start = b.fill(shape, x.dtype, identity_of("max" if largest else "min", x.dtype))
    outputs = [(start, x.dtype, write), (b.fill(shape, "int64", 0), "int64", write)]
    iterators: list[Iterator] = ["reduction" if d == axis else "parallel" for d in range(x.rank)]

    def body(v: Scalar, best: Scalar, position: Scalar) -> list[Scalar]:
        better = _is_better(v, best, largest, last)
        index = b.index(axis).cast("int64")
        return [better.select(v, best), better.select(index, position)]

    return b.generic([(x, b.identity(x.rank))], outputs, iterators, body)[1]


def _first_equal(b: TensorBuilder, x: Tensor, largest: bool) -> Tensor:
    """The extremes of rows, then where each occurs first: two loops that vectors do well.

    One that carries both has to compare, and to wait, element by element.
    """
    axis, length = x.rank - 1, x.shape[-1]
    best = b.reduce(x, [axis], "max" if largest else "min", keepdims=False)
    with b.location:
        rows = ir.AffineMap.get(x.rank, 0, [ir.AffineDimExpr.get(d) for d in range(axis)])
    start = b.fill(x.shape[:-1], "int32", length)
    iterators: list[Iterator] = ["reduction" if d == axis else "parallel" for d in range(x.rank)]

    def body(v: Scalar, extreme: Scalar, position: Scalar) -> list[Scalar]:
        found = v.equals(extreme) | v.is_nan() if is_float(v.dtype) else v.equals(extreme)
        here = found.select(b.index(axis).cast("int32"), length)
        return [position.minimum(here)]

    inputs = [(x, b.identity(x.rank)), (best, rows)]
    position = b.generic(inputs, [(start, "int32", rows)], iterators, body)[0]
    return cast(b, position, "int64")


def _is_better(v: Scalar, best: Scalar, largest: bool, last: bool) -> Scalar:
    a, b = (v, best) if largest else (best, v)
    better = a >= b if last else a > b
    if not is_float(v.dtype):
        return better
    return (better | v.is_nan()) & ~best.is_nan()


def _arg_extreme(node: Node, *, largest: bool) -> Tensor:
    x = node.tensor(0)
    axis = node.axis(node.attribute("axis", 0), x.rank)
    kept = [n for d, n in enumerate(x.shape) if d != axis]
    if 0 in kept:
        result = Tensor(node.b.empty(kept, "int64"), "int64")
    elif not x.shape[axis]:
        raise node.invalid("the axis has no elements")
    else:
        last = bool(node.attribute("select_last_index", 0))
        result = arg_extreme(node.b, x, axis, largest=largest, last=last)
    if not node.attribute("keepdims", 1):
        return result
    return node.b.reshape(result, [1 if d == axis else n for d, n in enumerate(x.shape)])


@handles("ArgMax")
def arg_max(node: Node) -> Tensor:
    return _arg_extreme(node, largest=True)


@handles("ArgMin")
def arg_min(node: Node) -> Tensor:
    return _arg_extreme(node, largest=False)


@handles("Hardmax")
def hardmax(node: Node) -> Tensor:
    """1 at the first maximum along the axis, 0 elsewhere.

    Before opset 13 all axes from `axis` on count as one.
    """
    x, b = node.tensor(0), node.b
    shape, default = x.shape, -1 if node.opset >= 13 else 1
    axis = node.axis(node.attribute("axis", default), x.rank)
    if node.opset < 13:
        x, axis = b.reshape(x, [prod(shape[:axis]), prod(shape[axis:])]), 1
    if 0 in x.shape:
        return b.reshape(x, shape)
    found = arg_extreme(b, x, axis, largest=True)
    best = b.reshape(found, [1 if d == axis else n for d, n in enumerate(x.shape)])

    def body(position: Scalar) -> Scalar:
        return position.equals(b.index(axis).cast("int64")).cast(x.dtype)

    return b.reshape(b.map(body, best, dtype=x.dtype, shape=x.shape), shape)
