# SPDX-License-Identifier: MIT OR Apache-2.0
"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.frontends.onnx.node import Node, handles

_Named = Callable[[TensorBuilder, Tensor, int], Tensor]


@handles("Softmax")
def softmax(node: Node) -> Tensor:
    return _along_axis(node, named.softmax)


@handles("LogSoftmax")
def log_softmax(node: Node) -> Tensor:
    return _along_axis(node, named.log_softmax)


def _along_axis(node: Node, function: _Named) -> Tensor:
    x = node.tensor(0)
    if node.opset >= 13:
        return function(node.b, x, node.axis(int(node.attribute("axis", -1)), x.rank))
    # Before opset 13 all dimensions from the axis on are one row.
    axis = node.axis(int(node.attribute("axis", 1)), x.rank)
    rows = node.b.reshape(x, [*x.shape[:axis], prod(x.shape[axis:])])
    return node.b.reshape(function(node.b, rows, axis), x.shape)
