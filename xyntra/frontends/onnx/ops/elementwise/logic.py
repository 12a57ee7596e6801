# SPDX-License-Identifier: MIT OR Apache-2.0
"""Comparisons, boolean operators and selection."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of


def compare(node: Node, body: Callable[[Scalar, Scalar], Scalar]) -> Tensor:
    """Combine two inputs of one dtype to booleans, broadcasting."""
    return node.b.map(body, node.operand(0), node.operand(1), dtype="bool")


@handles("Equal")
def equal(node: Node) -> Tensor:
    return compare(node, Scalar.equals)


@handles("Greater")
def greater(node: Node) -> Tensor:
    return compare(node, lambda x, y: x > y)


@handles("GreaterOrEqual")
def greater_or_equal(node: Node) -> Tensor:
    return compare(node, lambda x, y: x >= y)


@handles("Less")
def less(node: Node) -> Tensor:
    return compare(node, lambda x, y: x < y)


@handles("LessOrEqual")
def less_or_equal(node: Node) -> Tensor:
    return compare(node, lambda x, y: x <= y)


@handles("And")
def logical_and(node: Node) -> Tensor:
    return compare(node, lambda x, y: x & y)


@handles("Or")
def logical_or(node: Node) -> Tensor:
    return compare(node, lambda x, y: x | y)


@handles("Xor")
def logical_xor(node: Node) -> Tensor:
    return compare(node, lambda x, y: x ^ y)


@handles("Not")
def logical_not(node: Node) -> Tensor:
    return node.b.map(lambda x: ~x, node.operand(0), dtype="bool")


@handles("Where")
def where(node: Node) -> Tensor:
    condition, if_true, if_false = (node.operand(i) for i in range(3))
    dtype = dtype_of(if_true)
    return node.b.map(lambda c, x, y: c.select(x, y), condition, if_true, if_false, dtype=dtype)


@handles("IsNaN")
def is_nan(node: Node) -> Tensor:
    return node.b.map(Scalar.is_nan, node.operand(0), dtype="bool")


@handles("IsInf")
def is_inf(node: Node) -> Tensor:
    signs = [
        float(sign + "inf")
        for sign, name in (("", "detect_positive"), ("-", "detect_negative"))
        if node.attribute(name, 1)
    ]
    if not is_float(dtype_of(node.operand(0))):
        raise node.invalid("integers have no infinity")

    def body(x: Scalar) -> Scalar:
        found = constant(False, "bool")
        for infinity in signs:
            found = found | x.equals(infinity)
        return found

    return node.b.map(body, node.operand(0), dtype="bool")
