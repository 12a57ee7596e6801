# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions, softmax, cumulative sums and sorting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod

import numpy as np

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.reductions import Reduction
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.onnx.ops.reductions.arg_extreme import arg_extreme
from xyntra.frontends.torch.node import AtenNode, handles


def _reduced(node: AtenNode, x: Tensor, kind: Reduction) -> Tensor:
    """Reduce the dimensions of argument `dim`, in the accumulator of the dtype of `x`."""
    axes = node.axes("dim", x.rank)
    wide = accumulator_of(x.dtype)
    return node.b.reduce(x, axes, kind, keepdims=bool(node["keepdim"]), accumulator=wide)


@handles("sum")
def sum_(node: AtenNode) -> Tensor:
    x = node.tensor("self")
    x = x if is_float(x.dtype) and is_float(node.dtype) else cast(node.b, x, node.dtype)
    x = cast(node.b, x, node.dtype) if node.dtype == "float64" else x
    return cast(node.b, _reduced(node, x, "sum"), node.dtype)


@handles("prod")
def product(node: AtenNode) -> Tensor:
    x = cast(node.b, node.tensor("self"), node.dtype)
    return cast(node.b, _reduced(node, x, "prod"), node.dtype)


@handles("mean")
def mean(node: AtenNode) -> Tensor:
    return _mean(node)


def _mean(node: AtenNode) -> Tensor:
    x = node.tensor("self")
    count = prod(x.shape[axis] for axis in node.axes("dim", x.rank))
    wide = accumulator_of(node.dtype)
    total = _reduced(node, cast(node.b, x, wide), "sum")
    return node.b.map(lambda v: (v / float(count)).cast(node.dtype), total, dtype=node.dtype)


@handles("amax")
def amax(node: AtenNode) -> Tensor:
    return _extreme(node, "max")


@handles("amin")
def amin(node: AtenNode) -> Tensor:
    return _extreme(node, "min")


def _extreme(node: AtenNode, kind: Reduction) -> Tensor:
    x = node.tensor("self")
    if x.dtype == "bool":
        found = _reduced(node, cast(node.b, x, "uint8"), kind)
        return cast(node.b, found, "bool")
    return cast(node.b, _reduced(node, x, kind), node.dtype)


@handles("max")
def maximum(node: AtenNode) -> Tensor | Sequence[Tensor]:
    return _with_place(node, "max")


@handles("min")
def minimum(node: AtenNode) -> Tensor | Sequence[Tensor]:
    return _with_place(node, "min")


def _with_place(node: AtenNode, kind: Reduction) -> Tensor | Sequence[Tensor]:
    """Return the extreme of all elements, or those along a dimension and where each is first."""
    value = _extreme(node, kind)
    return [value, _place(node, kind == "max")] if node.has("dim") else value


def _place(node: AtenNode, largest: bool) -> Tensor:
    x, b = node.tensor("self"), node.b
    x = cast(b, x, "uint8") if x.dtype == "bool" else x
    if x.rank == 0:
        return Tensor(b.fill(node.result(-1).shape, "int64", 0), "int64")
    if not node.has("dim"):
        x = b.reshape(x, [prod(x.shape)])
    axis = node.axis(node["dim"] or 0, x.rank)
    found = arg_extreme(b, x, axis, largest=largest)
    return b.reshape(found, node.result(-1).shape)


@handles("argmax")
def arg_max(node: AtenNode) -> Tensor:
    return _place(node, True)


@handles("argmin")
def arg_min(node: AtenNode) -> Tensor:
    return _place(node, False)


@handles("any")
def any_(node: AtenNode) -> Tensor:
    return _truth(node, "max")


@handles("all")
def all_(node: AtenNode) -> Tensor:
    return _truth(node, "min")


def _truth(node: AtenNode, kind: Reduction) -> Tensor:
    x, b = node.tensor("self"), node.b
    flags = b.map(lambda v: v.cast("bool").cast("int32"), x, dtype="int32")
    return b.map(lambda v: (v > 0).cast(node.dtype), _reduced(node, flags, kind), dtype=node.dtype)


@handles("var")
def variance(node: AtenNode) -> Tensor:
    return _variance(node)


def _variance(node: AtenNode) -> Tensor:
    """The mean of squared distances, over the number of elements less `correction`."""
    x, b = node.tensor("self"), node.b
    axes, wide = node.axes("dim", x.rank), accumulator_of(x.dtype)
    count = prod(x.shape[axis] for axis in axes)
    if node.has("correction"):
        correction = float(node["correction"])
    else:
        correction = 0.0 if node["unbiased"] is False else 1.0
    total = b.reduce(x, axes, "sum", accumulator=wide)
    centred = b.map(
        lambda v, t: v.cast(wide) - t / float(count), x, total, dtype=wide, shape=x.shape
    )
    squares = b.reduce(
        centred, axes, "sum", keepdims=bool(node["keepdim"]), element=lambda v: v * v
    )
    divisor = max(count - correction, 0.0)
    return b.map(lambda v: (v / divisor).cast(x.dtype), squares, dtype=x.dtype)


@handles("_softmax")
def softmax(node: AtenNode) -> Tensor:
    x = cast(node.b, node.tensor("self"), node.dtype)
    if not x.rank:
        return node.b.map(lambda v: v - v + 1, x, dtype=x.dtype)
    return named.softmax(node.b, x, node.axis(node["dim"], x.rank))


@handles("_safe_softmax")
def safe_softmax(node: AtenNode) -> Tensor:
    """What PyTorch's attention takes: rows of nothing but -inf give 0, not NaN."""
    b, lowest = node.b, float("-inf")
    x = cast(b, node.tensor("self"), node.dtype)
    if not x.rank:
        zero = constant(0, x.dtype)
        return b.map(lambda v: v.equals(lowest).select(zero, v - v + 1), x, dtype=x.dtype)
    axis = node.axis(node["dim"], x.rank)
    largest = b.reduce(x, [axis], "max", keepdims=True)

    def kept(most: Scalar, probability: Scalar) -> Scalar:
        return most.equals(lowest).select(constant(0, x.dtype), probability)

    return b.map(kept, largest, named.softmax(b, x, axis), dtype=x.dtype)


@handles("_log_softmax")
def log_softmax(node: AtenNode) -> Tensor:
    x = cast(node.b, node.tensor("self"), node.dtype)
    if not x.rank:
        return node.b.map(lambda v: v - v, x, dtype=x.dtype)
    return named.log_softmax(node.b, x, node.axis(node["dim"], x.rank))


@handles("cumsum")
def cumulative_sum(node: AtenNode) -> Tensor:
    x = cast(node.b, node.tensor("self"), node.dtype)
    if not x.rank:
        return x
    axis = np.array(node.axis(node["dim"], x.rank), np.int64)
    result: Tensor = node.by_onnx("CumSum", x, axis)[0]
    return result


@handles("cumprod")
def cumulative_product(node: AtenNode) -> Tensor:
    x = cast(node.b, node.tensor("self"), node.dtype)
    if not x.rank:
        return x
    axis = np.array(node.axis(node["dim"], x.rank), np.int64)
    return node.by_onnx("CumProd", x, axis)[0] if 0 not in x.shape else x


@handles("var_mean")
def variance_and_mean(node: AtenNode) -> Sequence[Tensor]:
    return [_variance(node), cast(node.b, _mean(node), node.result(1).dtype)]


@handles("linalg_vector_norm")
def vector_norm(node: AtenNode) -> Tensor:
    order = float(node["ord"])
    x, b = node.tensor("self"), node.b
    wide, axes = accumulator_of(node.dtype), node.axes("dim", x.rank)
    if abs(order) == inf:
        if any(x.shape[axis] == 0 for axis in axes):
            raise node.unsupported("extremes of nothing")
        kind: Reduction = "max" if order > 0 else "min"
        return cast(b, _norm_sum(node, kind, Scalar.absolute, axes, wide), node.dtype)
    if order == 0:
        count = _norm_sum(node, "sum", lambda v: v.differs(0).cast(wide), axes, wide)
        return cast(b, count, node.dtype)
    elements = {1.0: Scalar.absolute, 2.0: lambda v: v * v}
    powers = elements.get(order, lambda v: v.absolute().math("powf", order))
    total = _norm_sum(node, "sum", powers, axes, wide)
    if order == 1:
        return cast(b, total, node.dtype)

    def root(v: Scalar) -> Scalar:
        return v.math("sqrt") if order == 2 else v.math("powf", 1 / order)

    return b.map(lambda v: root(v).cast(node.dtype), total, dtype=node.dtype)


def _norm_sum(
    node: AtenNode,
    kind: Reduction,
    element: Callable[[Scalar], Scalar],
    axes: Sequence[int],
    wide: str,
) -> Tensor:
    x = cast(node.b, node.tensor("self"), wide)
    return node.b.reduce(x, axes, kind, keepdims=bool(node["keepdim"]), element=element)


@handles("topk")
def top_k(node: AtenNode) -> Sequence[Tensor]:
    x, k = node.tensor("self"), int(node["k"])
    return _best(node, x, k, largest=bool(node["largest"]))


@handles("sort")
def sort(node: AtenNode) -> Sequence[Tensor]:
    """Equal elements keep their order."""
    x = node.tensor("self")
    axis = node.axis(node["dim"], x.rank)
    return _best(node, x, x.shape[axis] if x.rank else 1, largest=bool(node["descending"]))


def _best(node: AtenNode, x: Tensor, k: int, *, largest: bool) -> Sequence[Tensor]:
    if not x.rank or 0 in node.shape or x.dtype == "bool":
        raise node.unsupported(f"an input of {x.dtype} {list(x.shape)}")
    axis = node.axis(node["dim"], x.rank)
    count = np.array([k], np.int64)
    return node.by_onnx("TopK", x, count, axis=axis, largest=int(largest), sorted=1)
