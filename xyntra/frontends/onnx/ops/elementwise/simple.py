# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that compute each element from the elements at its position."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import map_float


def dtype_of(operand: Operand) -> str:
    """The dtype name of a tensor or an array."""
    return operand.dtype if isinstance(operand, Tensor) else operand.dtype.name


def unary(node: Node, body: Callable[[Scalar], Scalar]) -> Tensor:
    """Apply `body` to every element of the only input, keeping its dtype."""
    x = node.tensor(0)
    return node.b.map(body, x, dtype=x.dtype)


def pairwise(node: Node, body: Callable[[Scalar, Scalar], Scalar]) -> Tensor:
    """Combine one or more inputs from left to right with `body`, broadcasting."""
    operands = [node.operand(i) for i in range(len(node.operands))]

    def chain(*scalars: Scalar) -> Scalar:
        result = scalars[0]
        for scalar in scalars[1:]:
            result = body(result, scalar)
        return result

    return node.b.map(chain, *operands, dtype=dtype_of(operands[0]))


def logistic(x: Scalar) -> Scalar:
    """1 / (1 + exp(-x))."""
    return constant(1, x.dtype) / ((-x).math("exp") + 1)


@handles("Relu")
def relu(node: Node) -> Tensor:
    return unary(node, lambda x: x.maximum(0))


@handles("Sigmoid")
def sigmoid(node: Node) -> Tensor:
    # exp(12) has no float16, 1 / (1 + exp(12)) has.
    return map_float(node.b, logistic, node.tensor(0))
