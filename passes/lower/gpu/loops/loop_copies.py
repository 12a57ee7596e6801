# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes a value of a loop body elsewhere, for other iterations."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.owners import owner_of


def computed_again(
    value: ir.Value, known: dict[ir.Value, ir.Value], whole: ir.Operation
) -> ir.Value:
    """Emit, at the insertion point, what `value` comes from.

    Args:
        value: of the body of `whole` or of a loop in it, from operations without regions alone.
        known: what stands for values, at first the numbers of the loops; what is emitted is added.
        whole: the outermost loop; what is defined outside of it stays as it is.
    """
    if value in known or isinstance(value.owner, ir.Block) or not is_inside(value, whole):
        return known.get(value, value)
    op = value.owner.operation
    for each in op.operands:
        computed_again(each, known, whole)
    repeat(op, known)
    return known[value]


def is_inside(value: ir.Value, whole: ir.Operation) -> bool:
    """Tell whether an operation at any depth of `whole` has `value` as its result."""
    op = owner_of(value)
    around = None if op is None else op.parent
    while around is not None:
        if around == whole:
            return True
        around = around.parent
    return False
