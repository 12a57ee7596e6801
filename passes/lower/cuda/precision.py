# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells whether a kernel may round operands of f32 contractions to tf32."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

PRECISION = "xyntra.precision"
"""Attribute of a kernel function: "tf32" where factors may be rounded to 11 bits."""


def allows_tf32(op: ir.Operation) -> bool:
    """Tell whether the kernel around `op` may round factors of f32 to tf32."""
    current: ir.Operation | None = op
    while current is not None:
        current = current.operation
        if PRECISION in current.attributes:
            return bool(ir.StringAttr(current.attributes[PRECISION]).value == "tf32")
        current = current.parent
    return False
