# SPDX-License-Identifier: MIT OR Apache-2.0
"""A body of plain arithmetic, repeated on given scalars."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import terminator


def emit_on_scalars(body: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """Emit `body` at the insertion point and return what it yields.

    Args:
        body: operations with one result each, as `is_vectorizable` says.
        arguments: for the arguments of `body`, at least for those that are used.
    """
    mapped: dict[ir.Value, ir.Value] = dict(zip(body.arguments, arguments, strict=False))
    ending = terminator(body)
    for view in body.operations:
        op = view.operation
        if op == ending:
            break
        operands = [mapped.get(value, value) for value in op.operands]
        mapped[op.result] = emit(op.name, operands, op.result.type, **dict(op.attributes.items()))
    return [mapped.get(value, value) for value in ending.operands]
