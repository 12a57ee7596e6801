# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads trip counts and induction variables of scf.for loops with constant bounds."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_attribute

__all__ = ["constant_of", "constant_trips", "number_of"]


def constant_trips(loop: ir.Operation) -> int | None:
    """The iterations of an scf.for from 0 to a constant in steps of 1; None for any other."""
    first, end, step = (constant_of(value) for value in list(loop.operands)[:3])
    return end if first == 0 and step == 1 and end is not None and end > 0 else None


def number_of(loop: ir.Operation) -> ir.Value:
    """The number that an scf.for counts."""
    return loop.regions[0].blocks[0].arguments[0]


def constant_of(value: ir.Value) -> int | None:
    """The value of an integer constant."""
    attribute = constant_attribute(value)
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None
