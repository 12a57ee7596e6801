# SPDX-License-Identifier: MIT OR Apache-2.0
"""Dropout, which does nothing at inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xyntra.dialects.builder import Operand
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise import dtype_of


@handles("Dropout")
def dropout(node: Node) -> Sequence[Operand]:
    x = node.operand(0)
    if node.has(2) and bool(node.constant(2).all()):
        ratio = float(node.constant(1).item()) if node.has(1) else 0.5
        if ratio:
            raise node.unsupported("training mode, which is random")
    # Up to opset 11 the mask of inference was not defined; onnxruntime gives zeros.
    mask = np.full(x.shape, node.opset >= 12, "bool" if node.opset >= 10 else dtype_of(x))
    return [x, mask][: len(node.proto.output)]
