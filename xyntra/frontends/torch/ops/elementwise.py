# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arithmetic of operands that broadcast; 16-bit floats are computed in float32, as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.ops.elementwise.arithmetic import divide, floor_remainder, remainder
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.torch.node import AtenNode, handles
from xyntra.frontends.weight_types import dtype_of

Body = Callable[..., Scalar]


def converted(operand: Operand, dtype: str) -> Operand:
    """Return an array in another dtype; tensors are converted in the bodies that read them."""
    if isinstance(operand, Tensor):
        return operand
    with np.errstate(all="ignore"):
        return operand.astype(dtype_of(dtype))


def combined(node: AtenNode, body: Body, *names: str, wide: str | None = None) -> Tensor:
    """Apply `body` to arguments in the precision of the result, broadcasting.

    Args:
        node: the node.
        body: one scalar an argument -> a scalar.
        names: of the arguments.
        wide: the dtype to compute in, where it is not the accumulator's of the result.
    """
    compute = wide or ("int32" if node.dtype == "bool" else accumulator_of(node.dtype))
    operands = [converted(node.operand(name), compute) for name in names]

    def rounded(*scalars: Scalar) -> Scalar:
        return body(*(each.cast(compute) for each in scalars)).cast(node.dtype)

    return node.b.map(rounded, *operands, dtype=node.dtype, shape=node.shape)


@handles("add")
def add(node: AtenNode) -> Tensor:
    alpha = node["alpha"] if node.has("alpha") else 1
    return combined(node, lambda x, y: x + (y if alpha == 1 else y * alpha), "self", "other")


@handles("sub")
def sub(node: AtenNode) -> Tensor:
    alpha = node["alpha"] if node.has("alpha") else 1
    return combined(node, lambda x, y: x - (y if alpha == 1 else y * alpha), "self", "other")


@handles("rsub")
def rsub(node: AtenNode) -> Tensor:
    alpha = node["alpha"] if node.has("alpha") else 1
    return combined(node, lambda x, y: y - (x if alpha == 1 else x * alpha), "self", "other")


@handles("mul")
def mul(node: AtenNode) -> Tensor:
    return combined(node, lambda x, y: x * y, "self", "other")


@handles("div", "floor_divide", "true_divide")
def div(node: AtenNode) -> Tensor:
    """Division by an integer of 0, for which PyTorch raises, is 0."""
    mode = node["rounding_mode"]
    if node.call.operator.startswith("aten.floor_divide"):
        mode = "floor"
    if mode is None:
        return combined(node, lambda x, y: x / y, "self", "other")
    floats = is_float(node.dtype)
    if mode == "trunc":
        body: Body = (lambda x, y: truncated(x / y)) if floats else divide
    else:
        body = _floor_quotient if floats else floor_division
    return combined(node, body, "self", "other")


def truncated(x: Scalar) -> Scalar:
    """Return a float without its fraction."""
    return (x < 0).select(x.math("ceil"), x.math("floor"))


def floor_division(x: Scalar, y: Scalar) -> Scalar:
    rest = remainder(x, y)
    crossed = rest.differs(0) & ((rest < 0) ^ (y < 0))
    return divide(x, y) - crossed.cast(x.dtype)


def _floor_quotient(x: Scalar, y: Scalar) -> Scalar:
    """The floor of the exact quotient, as Python computes it: by the remainder."""
    rest = x % y
    crossed = rest.differs(0) & ((rest < 0) ^ (y < 0))
    quotient = (x - rest) / y
    quotient = crossed.select(quotient - 1, quotient)
    floor = quotient.math("floor")
    nearest = (quotient - floor > 0.5).select(floor + 1, floor)
    exact = quotient.equals(0).select(constant(0, x.dtype).math("copysign", x / y), nearest)
    return y.equals(0).select(x / y, exact)


@handles("remainder")
def remainder_of_divisor(node: AtenNode) -> Tensor:
    return combined(node, floor_remainder, "self", "other")


@handles("fmod")
def fmod(node: AtenNode) -> Tensor:
    body: Body = (lambda x, y: x % y) if is_float(node.dtype) else remainder
    return combined(node, body, "self", "other")


@handles("pow")
def power(node: AtenNode) -> Tensor:
    """Whole constant exponents up to 8 are products; other powers of integers are refused."""
    exponent = node["exponent"]
    if isinstance(exponent, (int, float)) and exponent in range(9):
        count = int(exponent)
        return combined(node, lambda x: _product(x, count), "self")
    if not is_float(node.dtype):
        raise node.unsupported("powers of integers by exponents that are not 0 to 8")
    if exponent == 0.5:
        return combined(node, lambda x: x.math("sqrt"), "self")
    if exponent in (-1, -0.5):
        root = exponent == -0.5
        return combined(
            node, lambda x: constant(1, x.dtype) / (x.math("sqrt") if root else x), "self"
        )
    return combined(node, lambda x, y: x.math("powf", y), "self", "exponent")


def _product(x: Scalar, count: int) -> Scalar:
    if count == 0:
        return constant(1, x.dtype)
    half = _product(x, count // 2)
    if count == 1:
        return x
    return half * half * x if count % 2 else half * half


@handles("maximum")
def maximum(node: AtenNode) -> Tensor:
    return combined(node, lambda x, y: x.maximum(y), "self", "other")


@handles("minimum")
def minimum(node: AtenNode) -> Tensor:
    return combined(node, lambda x, y: x.minimum(y), "self", "other")


@handles("clamp", "clamp_min", "clamp_max")
def clamp(node: AtenNode) -> Tensor:
    """NaN stays NaN; where the bounds cross, the upper one counts."""
    names = [name for name in ("min", "max") if node.has(name)]

    def body(x: Scalar, *bounds: Scalar) -> Scalar:
        for name, bound in zip(names, bounds, strict=True):
            x = x.maximum(bound) if name == "min" else x.minimum(bound)
        return x

    return combined(node, body, "self", *names)


@handles("where")
def where(node: AtenNode) -> Tensor:
    x, y = (converted(node.operand(name), node.dtype) for name in ("self", "other"))

    def body(c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return c.cast("bool").select(x.cast(node.dtype), y.cast(node.dtype))

    condition = node.operand("condition")
    return node.b.map(body, condition, x, y, dtype=node.dtype, shape=node.shape)


@handles("atan2")
def atan2(node: AtenNode) -> Tensor:
    return combined(node, lambda x, y: x.math("atan2", y), "self", "other")


@handles("copysign")
def copysign(node: AtenNode) -> Tensor:
    return combined(node, lambda x, y: x.math("copysign", y), "self", "other")


@handles("hypot")
def hypotenuse(node: AtenNode) -> Tensor:
    """Scaled by the longer side, whose square might overflow."""

    def body(x: Scalar, y: Scalar) -> Scalar:
        x, y = x.absolute(), y.absolute()
        long, ratio = x.maximum(y), x.minimum(y) / x.maximum(y)
        plain = long * (ratio * ratio + 1).math("sqrt")
        infinite = x.equals(float("inf")) | y.equals(float("inf"))
        return infinite.select(constant(float("inf"), x.dtype), long.equals(0).select(long, plain))

    return combined(node, body, "self", "other")


@handles("lerp")
def lerp(node: AtenNode) -> Tensor:
    """Computed from the nearer end, as PyTorch does."""

    def body(x: Scalar, y: Scalar, w: Scalar) -> Scalar:
        near = x + w * (y - x)
        far = y - (y - x) * (constant(1, w.dtype) - w)
        return (w.absolute() < 0.5).select(near, far)

    return combined(node, body, "self", "end", "weight")
