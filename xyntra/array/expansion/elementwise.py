# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records operators of kernels on elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xyntra.array.arrays import Array
from xyntra.array.expansion.program import OPERATORS, OperatorCall, Rule, operator
from xyntra.array.functions import creation
from xyntra.array.functions import elementwise as e

_UNARY = """
    acos acosh asin asinh atan atanh cos cosh erf exp exp2 expm1 log log10 log1p log2 rsqrt sigmoid
    sin sinh sqrt tan tanh silu reciprocal abs ceil floor round trunc isnan isinf relu sign
    logical_not
"""
_BINARY = {
    "add.Tensor": e.add,
    "sub.Tensor": e.subtract,
    "mul.Tensor": e.multiply,
    "div.Tensor": e.divide,
    "floor_divide.default": e.floor_divide,
    "remainder.Tensor": e.remainder,
    "maximum.default": e.maximum,
    "minimum.default": e.minimum,
    "atan2.default": e.atan2,
    "hypot.default": e.hypot,
    "bitwise_and.Tensor": e.bitwise_and,
    "bitwise_or.Tensor": e.bitwise_or,
    "bitwise_xor.Tensor": e.bitwise_xor,
    "logical_and.default": e.logical_and,
    "logical_or.default": e.logical_or,
    "logical_xor.default": e.logical_xor,
    "eq.Tensor": e.equal,
    "ne.Tensor": e.not_equal,
    "lt.Tensor": e.less,
    "le.Tensor": e.less_equal,
    "gt.Tensor": e.greater,
    "ge.Tensor": e.greater_equal,
    "eq.Scalar": e.equal,
    "lt.Scalar": e.less,
}


def _unary(function: Callable[..., Array]) -> Rule:
    return lambda op: function(op["self"])


def _binary(function: Callable[..., Array], own: str = "self", other: str = "other") -> Rule:
    return lambda op: function(_array(op, own), op[other])


def _array(op: OperatorCall, name: str) -> Any:
    """Return an operand; a number becomes an array where both may be numbers."""
    value = op[name]
    return value if isinstance(value, Array) else creation.full((), value, dtype=op.dtype)


for _name in _UNARY.split():
    OPERATORS[f"aten.{_name}.default"] = _unary(getattr(e, _name))
OPERATORS["aten.neg.default"] = _unary(e.negative)
OPERATORS["aten.bitwise_not.default"] = _unary(e.bitwise_invert)
for _name, _function in _BINARY.items():
    OPERATORS[f"aten.{_name}"] = _binary(_function)
OPERATORS["xyntra.copysign"] = _binary(e.copysign)
OPERATORS["xyntra.left_shift"] = _binary(e.bitwise_left_shift)
OPERATORS["xyntra.right_shift"] = _binary(e.bitwise_right_shift)
for _name in ("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor"):
    OPERATORS[_name] = _binary(e.pow, other="exponent")


@operator("aten.gelu.default")
def gelu(op: OperatorCall) -> Array:
    return e.gelu(op["self"], approximate=op["approximate"])


@operator("aten.where.self")
def where(op: OperatorCall) -> Array:
    return e.where(op["condition"], _array(op, "self"), _array(op, "other"))


@operator("aten._to_copy.default")
def converted(op: OperatorCall) -> Array:
    return op["self"].astype(op.dtype)  # type: ignore[no-any-return]


@operator("aten.full.default")
def full(op: OperatorCall) -> Array:
    return creation.full(op.shape, op["fill_value"], dtype=op.dtype)


@operator("xyntra.index")
def index(op: OperatorCall) -> Array:
    axis = op["axis"]
    places = creation.arange(op.shape[axis], dtype=op.dtype)
    return places.reshape(op.shape)
