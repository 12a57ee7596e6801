# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of one element: roots, exponentials, logarithms, trigonometry."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.builder import Tensor
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise import unary

_OPERATIONS = {
    "Sqrt": "sqrt", "Exp": "exp", "Log": "log", "Erf": "erf", "Sin": "sin", "Cos": "cos",
    "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh",
    "Tanh": "tanh", "Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh",
}  # fmt: skip
"""ONNX operators and the operations of the math dialect that compute them."""


def _handler(operation: str) -> Callable[[Node], Tensor]:
    return lambda node: unary(node, lambda x: x.math(operation))


for _name, _operation in _OPERATIONS.items():
    handles(_name)(_handler(_operation))
