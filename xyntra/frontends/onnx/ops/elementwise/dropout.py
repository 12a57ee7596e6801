# SPDX-License-Identifier: MIT OR Apache-2.0
"""Dropout, which does nothing at inference."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.builder import Operand, Tensor
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of


@handles("Dropout")
def dropout(node: Node) -> Sequence[Operand]:
    x = node.operand(0)
    training = node.optional(2)
    if isinstance(training, Tensor):
        node.want(training)
        raise node.unsupported("whether it is training must be known at compile time")
    if training is not None and bool(training.all()):
        ratio = float(node.constant(1).item()) if node.has(1) else 0.5
        if ratio:
            raise node.unsupported("training mode, which is random")
    if len(node.proto.output) < 2:
        return [x]
    # Up to opset 11 the mask of inference was not defined; onnxruntime gives zeros.
    dtype = "bool" if node.opset >= 10 else dtype_of(x)
    return [x, Tensor(node.b.fill(x.shape, dtype, int(node.opset >= 12)), dtype)]
