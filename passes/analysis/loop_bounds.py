# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads trip counts and induction variables of scf.for loops with constant bounds."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.analysis.sizes.session import size_of
from xyntra.passes.analysis.sizes.size import Size

__all__ = ["constant_of", "constant_trips", "number_of"]


def constant_trips(loop: ir.Operation) -> int | None:
    """The iterations of an scf.for from 0 to a constant in steps of 1; None for any other."""
    first, end, step = (constant_of(value) for value in list(loop.operands)[:3])
    if first != 0 or step != 1 or end is None:
        return None
    return end if isinstance(end, Size) or end > 0 else None


def number_of(loop: ir.Operation) -> ir.Value:
    """The number that an scf.for counts."""
    return loop.regions[0].blocks[0].arguments[0]


def constant_of(value: ir.Value) -> int | None:
    """The value of an integer constant, or the size that a kernel is told."""
    size = size_of(value)
    if size is not None:
        return size
    attribute = constant_attribute(value)
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None
