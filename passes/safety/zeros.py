# SPDX-License-Identifier: MIT OR Apache-2.0
"""The attribute for zero of a type."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = ["zero_of"]


def zero_of(kind: ir.Type) -> ir.Attribute:
    """Return zero as a constant of `kind`: a scalar type, or a tensor of one."""
    if isinstance(kind, ir.RankedTensorType):
        return ir.DenseElementsAttr.get_splat(kind, zero_of(kind.element_type))
    if isinstance(kind, ir.IndexType | ir.IntegerType):
        return ir.IntegerAttr.get(kind, 0)
    return ir.FloatAttr.get(kind, 0.0, loc=ir.Location.unknown(kind.context))
