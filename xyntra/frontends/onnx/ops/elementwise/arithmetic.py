# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arithmetic on the elements of tensors that broadcast against each other."""

from __future__ import annotations

from functools import reduce

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import bit_width, is_float, is_unsigned
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of, pairwise, unary


def divide(x: Scalar, y: Scalar) -> Scalar:
    """Integer division toward zero that cannot trap: x / 0 is 0, and MIN / -1 wraps to MIN."""
    if is_unsigned(x.dtype):
        zero = y.equals(0)
        return zero.select(constant(0, x.dtype), x / zero.select(constant(1, x.dtype), y))
    special = y.equals(0) | y.equals(-1)
    quotient = x / special.select(constant(1, x.dtype), y)
    return y.equals(0).select(constant(0, x.dtype), y.equals(-1).select(-x, quotient))


def remainder(x: Scalar, y: Scalar) -> Scalar:
    """Integer remainder with the sign of `x` that cannot trap: x % 0 is 0."""
    special = y.equals(0) if is_unsigned(x.dtype) else y.equals(0) | y.equals(-1)
    one = constant(1, x.dtype)
    return special.select(constant(0, x.dtype), x % special.select(one, y))


def floor_remainder(x: Scalar, y: Scalar) -> Scalar:
    """Remainder with the sign of `y`, as Python's `%`; 0 for an integer `y` of 0."""
    rest = x % y if is_float(x.dtype) else remainder(x, y)
    if is_unsigned(x.dtype):
        return rest
    crossed = rest.differs(0) & ((rest < 0) ^ (y < 0))
    if not is_float(x.dtype):
        return crossed.select(rest + y, rest)
    return crossed.select(rest + y, rest.equals(0).select(rest.math("copysign", y), rest))


def _never_traps(divisor: Operand) -> bool:
    return isinstance(divisor, np.ndarray) and not np.isin(divisor, (0, -1)).any()


@handles("Add")
def add(node: Node) -> Tensor:
    return pairwise(node, lambda x, y: x + y)


def _total(node: Node, share: int) -> Tensor:
    """The sum of all inputs over `share`; 16-bit floats are added in float32 and rounded once."""
    operands = [node.operand(i) for i in range(len(node.operands))]
    dtype = dtype_of(operands[0])
    wide = accumulator_of(dtype)

    def total(*scalars: Scalar) -> Scalar:
        result = reduce(lambda x, y: x + y, (scalar.cast(wide) for scalar in scalars))
        return (result if share == 1 else result / share).cast(dtype)

    return node.b.map(total, *operands, dtype=dtype)


@handles("Sum")
def sum_of_inputs(node: Node) -> Tensor:
    return _total(node, 1)


@handles("Sub")
def sub(node: Node) -> Tensor:
    return pairwise(node, lambda x, y: x - y)


@handles("Mul")
def mul(node: Node) -> Tensor:
    return pairwise(node, lambda x, y: x * y)


@handles("Div")
def div(node: Node) -> Tensor:
    """Integers truncate; where ONNX leaves x / 0 undefined, the result is 0."""
    if is_float(dtype_of(node.operand(0))) or _never_traps(node.operand(1)):
        return pairwise(node, lambda x, y: x / y)
    return pairwise(node, divide)


@handles("Mod")
def mod(node: Node) -> Tensor:
    """`fmod=1`: the sign of the dividend; else that of the divisor. x % 0 is 0 for integers."""
    fmod, dtype = node.attribute("fmod", 0), dtype_of(node.operand(0))
    if fmod not in (0, 1):
        raise node.invalid(f"attribute 'fmod' is {fmod}, which is neither 0 nor 1")
    if not fmod and is_float(dtype) and node.opset < 28:
        raise node.invalid("floating-point inputs need fmod = 1")
    if not fmod:
        return pairwise(node, floor_remainder)
    if is_float(dtype) or _never_traps(node.operand(1)):
        return pairwise(node, lambda x, y: x % y)
    return pairwise(node, remainder)


@handles("Max")
def maximum(node: Node) -> Tensor:
    return pairwise(node, lambda x, y: x.maximum(y))


@handles("Min")
def minimum(node: Node) -> Tensor:
    return pairwise(node, lambda x, y: x.minimum(y))


@handles("Mean")
def mean(node: Node) -> Tensor:
    return _total(node, len(node.operands))


@handles("Neg")
def neg(node: Node) -> Tensor:
    return unary(node, lambda x: -x)


@handles("Abs")
def absolute(node: Node) -> Tensor:
    return unary(node, Scalar.absolute)


@handles("Reciprocal")
def reciprocal(node: Node) -> Tensor:
    return unary(node, lambda x: constant(1, x.dtype) / x)


@handles("Sign")
def sign(node: Node) -> Tensor:
    """NaN stays NaN."""

    def body(x: Scalar) -> Scalar:
        one = constant(1, x.dtype)
        if is_unsigned(x.dtype):
            return x.minimum(one)
        signed = (x > 0).select(one, (x < 0).select(constant(-1, x.dtype), 0))
        return x.is_nan().select(x, signed) if is_float(x.dtype) else signed

    return unary(node, body)


@handles("Floor")
def floor(node: Node) -> Tensor:
    return unary(node, lambda x: x.math("floor"))


@handles("Ceil")
def ceil(node: Node) -> Tensor:
    return unary(node, lambda x: x.math("ceil"))


@handles("Round")
def round_half_to_even(node: Node) -> Tensor:
    return unary(node, lambda x: x.math("roundeven"))


@handles("Pow")
def power(node: Node) -> Tensor:
    """The result has the dtype of the base.

    Small constant exponents are products. Other powers of integers go through float64, as in
    onnxruntime, and are exact while they fit its 53 bits.
    """
    base, exponent = node.operand(0), node.operand(1)
    dtype, other = dtype_of(base), dtype_of(exponent)
    if isinstance(exponent, np.ndarray) and exponent.size == 1 and exponent.item() in (1, 2, 3):
        count = int(exponent.item())
        shape = np.broadcast_shapes(base.shape, exponent.shape)
        return node.b.map(lambda x: _product(x, count), base, dtype=dtype, shape=shape)
    wide = dtype if is_float(dtype) and other != "float64" else "float64"

    def body(x: Scalar, y: Scalar) -> Scalar:
        return x.cast(wide).math("powf", y.cast(wide)).cast(dtype)

    return node.b.map(body, base, exponent, dtype=dtype)


def _product(x: Scalar, count: int) -> Scalar:
    result = x
    for _ in range(count - 1):
        result = result * x
    return result


@handles("BitShift")
def bit_shift(node: Node) -> Tensor:
    """Shifts by the width of the type or more leave nothing but the sign.

    Negative amounts, which ONNX leaves undefined, count as such.
    """
    direction = node.required("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise node.invalid(f"attribute 'direction' is '{direction}', not LEFT or RIGHT")

    def body(x: Scalar, y: Scalar) -> Scalar:
        bits = bit_width(x.dtype)
        inside = y < bits if is_unsigned(y.dtype) else (y >= 0) & (y < bits)
        if direction == "RIGHT" and not is_unsigned(x.dtype):
            return x >> inside.select(y, bits - 1)
        amount = inside.select(y, 0)
        return inside.select(x << amount if direction == "LEFT" else x >> amount, 0)

    return pairwise(node, body)


@handles("BitwiseAnd")
def bitwise_and(node: Node) -> Tensor:
    return pairwise(node, lambda x, y: x & y)


@handles("BitwiseOr")
def bitwise_or(node: Node) -> Tensor:
    return pairwise(node, lambda x, y: x | y)


@handles("BitwiseXor")
def bitwise_xor(node: Node) -> Tensor:
    return pairwise(node, lambda x, y: x ^ y)


@handles("BitwiseNot")
def bitwise_not(node: Node) -> Tensor:
    return unary(node, lambda x: ~x)
