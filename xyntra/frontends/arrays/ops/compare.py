# SPDX-License-Identifier: MIT OR Apache-2.0
"""Comparisons, and operations on booleans and bits."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import bit_width, is_float, is_unsigned
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.arrays.lowering import args, lowers
from xyntra.frontends.torch.node import AtenNode, Handler
from xyntra.frontends.torch.ops.elementwise import converted
from xyntra.frontends.torch.promotion import dtype_of_operand

Body = Callable[..., Scalar]


def _in_type(body: Body, dtype: Callable[[AtenNode], str]) -> Handler:
    """Return a lowering that converts operands to a type and applies `body`."""

    def handler(node: AtenNode) -> Tensor:
        wide = dtype(node)
        return node.b.map(
            lambda *scalars: body(*(each.cast(wide) for each in scalars)),
            *(converted(each, wide) for each in args(node)),
            dtype=node.dtype,
            shape=node.shape,
        )

    return handler


def _compared(node: AtenNode) -> str:
    dtype: str = node["compute"]
    return "uint8" if dtype == "bool" else dtype


_COMPARISONS: dict[str, Body] = {
    "equal": lambda x, y: x.equals(y),
    "not_equal": lambda x, y: x.differs(y),
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
}
_LOGIC: dict[str, Body] = {
    "logical_and": lambda x, y: x & y,
    "logical_or": lambda x, y: x | y,
    "logical_xor": lambda x, y: x ^ y,
    "logical_not": lambda x: ~x,
}


def _shift(left: bool) -> Body:
    """Amounts of the width of the type or more, and negative ones, leave nothing but the sign."""

    def body(x: Scalar, y: Scalar) -> Scalar:
        bits = bit_width(x.dtype)
        inside = y < bits if is_unsigned(y.dtype) else (y >= 0) & (y < bits)
        if not left and not is_unsigned(x.dtype):
            return x >> inside.select(y, bits - 1)
        amount = inside.select(y, 0)
        return inside.select(x << amount if left else x >> amount, 0)

    return body


_BITS: dict[str, Body] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_invert": lambda x: ~x,
    "bitwise_left_shift": _shift(True),
    "bitwise_right_shift": _shift(False),
}
for _name, _body in _COMPARISONS.items():
    lowers(_name)(_in_type(_body, _compared))
for _name, _body in _LOGIC.items():
    lowers(_name)(_in_type(_body, lambda _: "bool"))
for _name, _body in _BITS.items():
    lowers(_name)(_in_type(_body, lambda node: node.dtype))


def _classified(body: Body, otherwise: bool) -> Handler:
    """Return a lowering of a question that has one answer for everything but floats."""

    def handler(node: AtenNode) -> Tensor:
        (x,) = args(node)
        floats = is_float(dtype_of_operand(x))
        return node.b.map(
            lambda v: body(v) if floats else constant(otherwise, "bool"), x, dtype="bool"
        )

    return handler


lowers("isnan")(_classified(Scalar.is_nan, False))
lowers("isinf")(_classified(lambda x: x.absolute().equals(float("inf")), False))
lowers("isfinite")(_classified(lambda x: x.absolute() < float("inf"), True))


@lowers("signbit")
def signbit(node: AtenNode) -> Tensor:
    (x,) = args(node)

    def body(v: Scalar) -> Scalar:
        if is_unsigned(v.dtype):
            return constant(False, "bool")
        if not is_float(v.dtype):
            return v < 0
        return v.bitcast(f"int{bit_width(v.dtype)}") < 0

    return node.b.map(body, x, dtype="bool")
