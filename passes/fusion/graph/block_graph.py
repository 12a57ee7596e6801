# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations that cost nothing, by themselves or where they are used."""

from __future__ import annotations

from xyntra.dialects.mlir import ir


def is_source(op: ir.Operation) -> bool:
    """Tell whether `op` is a destination without contents, a scalar or a splat constant."""
    if op.name == "tensor.empty":
        return not len(op.operands)
    if op.name != "arith.constant":
        return False
    value = op.attributes["value"]
    return not isinstance(value, ir.DenseElementsAttr) or value.is_splat


def reads_no_tensor(op: ir.Operation) -> bool:
    """Tell whether `op` computes its elements from scalars and indices alone, as fills do."""
    if op.name != "linalg.generic":
        return bool(op.name == "linalg.fill")
    return int(op.attributes["operandSegmentSizes"][0]) == 0
