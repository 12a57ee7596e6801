# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of one element: roots, exponentials, logarithms, trigonometry."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float, is_unsigned
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import unary

_OPERATIONS = {
    "Sqrt": "sqrt", "Exp": "exp", "Log": "log", "Erf": "erf", "Sin": "sin", "Cos": "cos",
    "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh",
    "Tanh": "tanh", "Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh",
}  # fmt: skip
"""ONNX operators and the operations of the math dialect that compute them."""


def _handler(operation: str) -> Callable[[Node], Tensor]:
    return lambda node: unary(node, lambda x: x.math(operation))


for _name, _operation in _OPERATIONS.items():
    if _name != "Erf":
        handles(_name)(_handler(_operation))


@handles("Erf")
def erf(node: Node) -> Tensor:
    """Operator sets 9 to 12 have it of integers, too: computed in float64 and cut to integers."""
    if is_float(node.tensor(0).dtype):
        return unary(node, lambda x: x.math("erf"))
    return unary(node, _erf_of_integer)


def _erf_of_integer(x: Scalar) -> Scalar:
    # erf(5) is less than 1 by 1.5e-12; that of 6 rounds to 1 in float64.
    one, zero = constant(1, x.dtype), constant(0, x.dtype)
    result = (x > 5).select(one, zero)
    return result if is_unsigned(x.dtype) else (x < -5).select(constant(-1, x.dtype), result)
