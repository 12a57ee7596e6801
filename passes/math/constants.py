# SPDX-License-Identifier: MIT OR Apache-2.0
"""Constants of any element type, scalar or splat, made and recognised."""

from __future__ import annotations

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir

__all__ = ["constant_float", "constant_int", "integer"]

_EXACT_CONVERSIONS = frozenset({"arith.extf", "arith.extsi", "vector.broadcast", "vector.splat"})


def constant_float(value: ir.Value) -> float | None:
    """Return the number that `value` always has, or None where that is not evident."""
    attribute = _constant(value)
    return attribute.value if isinstance(attribute, ir.FloatAttr) else None


def constant_int(value: ir.Value) -> int | None:
    """Return the signed integer that `value` always has, or None where that is not evident."""
    attribute = _constant(value)
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def _constant(value: ir.Value) -> ir.Attribute | None:
    owner = value.owner
    while isinstance(owner, ir.Operation | ir.OpView) and owner.name in _EXACT_CONVERSIONS:
        owner = owner.operands[0].owner
    if not isinstance(owner, ir.Operation | ir.OpView) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        return attribute.get_splat_value() if attribute.is_splat else None
    return attribute


def integer(type_: ir.Type, value: int) -> ir.Value:
    """Emit a constant of the integer type, or of the vector of integers, `type_`."""
    if not isinstance(type_, ir.VectorType):
        return arith.ConstantOp(type_, ir.IntegerAttr.get(type_, value)).result
    element = ir.IntegerAttr.get(type_.element_type, value)
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, element)).result
