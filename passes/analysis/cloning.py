# SPDX-License-Identifier: MIT OR Apache-2.0
"""Clones operations with other operands."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = ["repeat"]


def repeat(op: ir.Operation, mapped: dict[ir.Value, ir.Value]) -> None:
    """Clone `op` to the insertion point, with the operands of `mapped`; add its results there."""
    copy = op.clone().operation
    for number, operand in enumerate(op.operands):
        if operand in mapped:
            copy.operands[number] = mapped[operand]
    mapped.update(zip(op.results, copy.results, strict=True))
