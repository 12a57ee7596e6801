# SPDX-License-Identifier: MIT OR Apache-2.0
"""Comparisons, and operators on booleans and bits."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.torch.node import AtenNode, Handler, handles
from xyntra.frontends.torch.ops.elementwise import converted
from xyntra.frontends.torch.promotion import dtype_of_operand, promoted

Body = Callable[[Scalar, Scalar], Scalar]


def _comparison(body: Body) -> Handler:
    def handler(node: AtenNode) -> Tensor:
        dtype = promoted([node["self"], node["other"]])
        wide = "uint8" if dtype == "bool" else dtype
        operands = [converted(node.operand(name), wide) for name in ("self", "other")]
        return node.b.map(
            lambda x, y: body(x.cast(wide), y.cast(wide)),
            *operands,
            dtype="bool",
            shape=node.shape,
        )

    return handler


handles("eq")(_comparison(lambda x, y: x.equals(y)))
handles("ne")(_comparison(lambda x, y: x.differs(y)))
handles("lt")(_comparison(lambda x, y: x < y))
handles("le")(_comparison(lambda x, y: x <= y))
handles("gt")(_comparison(lambda x, y: x > y))
handles("ge")(_comparison(lambda x, y: x >= y))


def _logic(body: Body, *, bits: bool) -> Handler:
    def handler(node: AtenNode) -> Tensor:
        dtype = node.dtype if bits else "bool"
        operands = [converted(node.operand(name), dtype) for name in ("self", "other")]
        return node.b.map(
            lambda x, y: body(x.cast(dtype), y.cast(dtype)),
            *operands,
            dtype=dtype,
            shape=node.shape,
        )

    return handler


for _prefix, _bits in (("logical_", False), ("bitwise_", True)):
    handles(f"{_prefix}and")(_logic(lambda x, y: x & y, bits=_bits))
    handles(f"{_prefix}or")(_logic(lambda x, y: x | y, bits=_bits))
    handles(f"{_prefix}xor")(_logic(lambda x, y: x ^ y, bits=_bits))


@handles("logical_not")
def logical_not(node: AtenNode) -> Tensor:
    return node.b.map(lambda x: ~x.cast("bool"), node.operand("self"), dtype="bool")


@handles("bitwise_not")
def bitwise_not(node: AtenNode) -> Tensor:
    return node.b.map(lambda x: ~x, node.operand("self"), dtype=node.dtype)


@handles("isnan")
def is_nan(node: AtenNode) -> Tensor:
    return _classified(node, Scalar.is_nan)


@handles("isinf")
def is_inf(node: AtenNode) -> Tensor:
    return _classified(node, lambda x: x.absolute().equals(float("inf")))


def _classified(node: AtenNode, body: Callable[[Scalar], Scalar]) -> Tensor:
    x = node.operand("self")
    floats = is_float(dtype_of_operand(x))
    return node.b.map(lambda v: body(v) if floats else constant(False, "bool"), x, dtype="bool")
