# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arithmetic and functions of elements; 16-bit floats are computed in float32 and rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import bit_width, is_float, is_unsigned
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.arrays.lowering import args, lowers, tensor
from xyntra.frontends.onnx.ops.elementwise.arithmetic import divide, floor_remainder, remainder
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.onnx.ops.elementwise.simple import logistic
from xyntra.frontends.torch.node import AtenNode, Handler
from xyntra.frontends.torch.ops.elementwise import converted, truncated

Body = Callable[..., Scalar]

_FUNCTIONS = """
    exp exp2 log log2 log10 log1p expm1 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh erf
"""
"""Operations that the math dialect has under the same name."""


def combined(node: AtenNode, body: Body, *operands: Operand) -> Tensor:
    """Apply `body` to operands in the precision of the result, broadcasting."""
    compute = "int32" if node.dtype == "bool" else accumulator_of(node.dtype)
    given = [converted(each, compute) for each in operands or args(node)]

    def rounded(*scalars: Scalar) -> Scalar:
        return body(*(each.cast(compute) for each in scalars)).cast(node.dtype)

    return node.b.map(rounded, *given, dtype=node.dtype, shape=node.shape)


def _plain(body: Body) -> Handler:
    return lambda node: combined(node, body)


def _function(name: str) -> Handler:
    return _plain(lambda x: x.math(name))


for _name in _FUNCTIONS.split():
    lowers(_name)(_function(_name))


def _rounding(body: Body) -> Handler:
    return lambda node: combined(node, body) if is_float(node.dtype) else tensor(node, 0)


lowers("floor")(_rounding(lambda x: x.math("floor")))
lowers("ceil")(_rounding(lambda x: x.math("ceil")))
lowers("round")(_rounding(lambda x: x.math("roundeven")))


@lowers("trunc")
def trunc(node: AtenNode) -> Tensor:
    """The sign of a zero stays."""
    return _rounding(lambda x: truncated(x).math("copysign", x))(node)  # type: ignore[return-value]


def _power_of_integers(x: Scalar, y: Scalar) -> Scalar:
    """Squares of `x` by the bits of `y`, exact modulo the width of the type; 0 for negative `y`."""
    one, result = constant(1, x.dtype), constant(1, x.dtype)
    rest, base = y, x
    for _ in range(bit_width(x.dtype)):
        result = (rest & 1).equals(0).select(result, result * base)
        rest, base = rest >> 1, base * base
    if is_unsigned(x.dtype):
        return result
    inverse = x.equals(1).select(one, x.equals(-1).select(result, 0))
    return (y < 0).select(inverse, result)


@lowers("pow")
def power(node: AtenNode) -> Tensor:
    """Whole constant exponents up to 8 are products."""
    base, exponent = args(node)
    known = exponent.item() if isinstance(exponent, np.ndarray) and exponent.size == 1 else None
    if known is not None and known in range(9):
        count = int(known)
        return combined(node, lambda x: _product(x, count), base)
    if not is_float(node.dtype):
        return combined(node, _power_of_integers)
    if known == 0.5:
        # Unlike a root, a power of -0.0 is 0.0, and one of -inf is inf.
        return combined(
            node, lambda x: x.equals(float("-inf")).select(-x, (x + 0.0).math("sqrt")), base
        )
    return combined(node, lambda x, y: x.math("powf", y))


def _product(x: Scalar, count: int) -> Scalar:
    if count == 0:
        return constant(1, x.dtype)
    half = _product(x, count // 2)
    if count == 1:
        return x
    return half * half * x if count % 2 else half * half


def _floor_divide(x: Scalar, y: Scalar) -> Scalar:
    if not is_float(x.dtype):
        quotient = divide(x, y)
        if is_unsigned(x.dtype):
            return quotient
        rest = remainder(x, y)
        crossed = rest.differs(0) & ((rest < 0) ^ (y < 0))
        return quotient - crossed.cast(x.dtype)
    # By the remainder, as Python does it: the floor of a rounded quotient may be too large.
    rest = floor_remainder(x, y)
    quotient = (x - rest) / y
    floor = quotient.math("floor")
    nearest = (quotient - floor > 0.5).select(floor + 1, floor)
    exact = quotient.equals(0).select(constant(0, x.dtype).math("copysign", x / y), nearest)
    infinite = float("inf")
    special = y.equals(0) | x.absolute().equals(infinite) | y.absolute().equals(infinite)
    return special.select(x / y, exact)


def _remainder(x: Scalar, y: Scalar) -> Scalar:
    found = floor_remainder(x, y)
    if not is_float(x.dtype):
        return found
    # x % inf is x where the signs agree, else inf with the sign of the divisor.
    crossed = x.differs(0) & ((x < 0) ^ (y < 0))
    inside = y.absolute().equals(float("inf")) & (x.absolute() < float("inf"))
    return inside.select(crossed.select(y, x.equals(0).select(x.math("copysign", y), x)), found)


def _hypot(x: Scalar, y: Scalar) -> Scalar:
    """Scaled by the longer side, whose square might overflow."""
    x, y = x.absolute(), y.absolute()
    long, ratio = x.maximum(y), x.minimum(y) / x.maximum(y)
    plain = long * (ratio * ratio + 1).math("sqrt")
    infinite = x.equals(float("inf")) | y.equals(float("inf"))
    return infinite.select(constant(float("inf"), x.dtype), long.equals(0).select(long, plain))


def _logaddexp(x: Scalar, y: Scalar) -> Scalar:
    high, low = x.maximum(y), x.minimum(y)
    same = x.equals(y)  # infinities, too, whose difference is NaN
    return same.select(x + 0.6931471805599453, high + (low - high).math("exp").math("log1p"))


def _sign(x: Scalar) -> Scalar:
    one = constant(1, x.dtype)
    if is_unsigned(x.dtype):
        return x.minimum(one)
    found = (x > 0).select(one, (x < 0).select(constant(-1, x.dtype), 0))
    return x.is_nan().select(x, found) if is_float(x.dtype) else found


_BODIES: dict[str, Body] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "maximum": lambda x, y: x.maximum(y),
    "minimum": lambda x, y: x.minimum(y),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": lambda x, y: x % y if is_float(x.dtype) else remainder(x, y),
    "atan2": lambda x, y: x.math("atan2", y),
    "hypot": _hypot,
    "logaddexp": _logaddexp,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "abs": Scalar.absolute,
    "square": lambda x: x * x,
    "reciprocal": lambda x: constant(1, x.dtype) / x,
    "rsqrt": lambda x: constant(1, x.dtype) / x.math("sqrt"),
    "sign": _sign,
    "relu": lambda x: x.maximum(0),
    "sigmoid": logistic,
}
for _name, _body in _BODIES.items():
    lowers(_name)(_plain(_body))


@lowers("copysign")
def copysign(node: AtenNode) -> Tensor:
    return node.b.map(
        lambda x, y: x.cast(node.dtype).math("copysign", y.cast(node.dtype)),
        *(converted(each, node.dtype) for each in args(node)),
        dtype=node.dtype,
        shape=node.shape,
    )


@lowers("nextafter")
def next_after(node: AtenNode) -> Tensor:
    """Counts in the bits of the float, whose order is that of magnitudes."""
    bits = bit_width(node.dtype)

    def body(x: Scalar, y: Scalar) -> Scalar:
        x, y = x.cast(node.dtype), y.cast(node.dtype)
        pattern = x.bitcast(f"int{bits}")
        outward = (x < y) ^ (x < 0)
        stepped = outward.select(pattern + 1, pattern - 1)
        sign = 1 << (bits - 1)
        smallest = (y > 0).select(constant(1, pattern.dtype), constant(sign | 1, pattern.dtype))
        moved = x.equals(0).select(smallest, stepped).bitcast(node.dtype)
        found = x.equals(y).select(y, moved)
        return (x.is_nan() | y.is_nan()).select(constant(float("nan"), node.dtype), found)

    operands = [converted(each, node.dtype) for each in args(node)]
    return node.b.map(body, *operands, dtype=node.dtype, shape=node.shape)


@lowers("cast")
def convert(node: AtenNode) -> Tensor:
    return cast(node.b, tensor(node, 0), node.dtype)


@lowers("identity", "stop", "recompute")
def identity(node: AtenNode) -> Operand:
    return args(node)[0]


@lowers("clip")
def clip(node: AtenNode) -> Tensor:
    """NaN stays NaN; where the bounds cross, the upper one counts."""
    names = [name for name in ("low", "high") if node[name]]

    def body(x: Scalar, *bounds: Scalar) -> Scalar:
        for name, bound in zip(names, bounds, strict=True):
            x = x.maximum(bound) if name == "low" else x.minimum(bound)
        return x

    return combined(node, body)


@lowers("where")
def where(node: AtenNode) -> Tensor:
    condition, *rest = args(node)
    x, y = (converted(each, node.dtype) for each in rest)

    def body(c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return c.cast("bool").select(x.cast(node.dtype), y.cast(node.dtype))

    return node.b.map(body, condition, x, y, dtype=node.dtype, shape=node.shape)
