# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations of math that compare floats, or compute in a type that has no library for them."""

from __future__ import annotations

import math

from torch_mlir.dialects import arith
from torch_mlir.dialects import math as math_ops

from xyntra.dialects.mlir import ir

__all__ = ["clampf", "fma_of_f16", "isinf", "isnormal"]

_SMALLEST_NORMAL = {"f64": 2.0**-1022, "f32": 2.0**-126, "bf16": 2.0**-126, "f16": 2.0**-14}


def isinf(op: ir.Operation) -> ir.Value:
    """Tell whether a float is infinite."""
    magnitude = math_ops.absf(op.operands[0])
    return arith.cmpf(arith.CmpFPredicate.OEQ, magnitude, _number(magnitude.type, math.inf))


def isnormal(op: ir.Operation) -> ir.Value:
    """Tell whether a float is neither 0 nor denormal, infinite or NaN."""
    magnitude = math_ops.absf(op.operands[0])
    type_ = magnitude.type
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    smallest = _number(type_, _SMALLEST_NORMAL[str(element)])
    above = arith.cmpf(arith.CmpFPredicate.OGE, magnitude, smallest)
    below = arith.cmpf(arith.CmpFPredicate.OLT, magnitude, _number(type_, math.inf))
    return arith.andi(above, below)


def clampf(op: ir.Operation) -> ir.Value:
    """A float no less than a least value and no greater than a greatest; NaN where any is NaN."""
    value, least, greatest = op.operands
    return arith.minimumf(arith.maximumf(value, least), greatest)


def fma_of_f16(op: ir.Operation) -> ir.Value:
    """A product of f16, exact in f32, plus an addend, rounded there and then to f16."""
    type_ = op.results[0].type
    wide = ir.F32Type.get()
    if isinstance(type_, ir.VectorType):
        wide = ir.VectorType.get(list(type_.shape), wide)
    return arith.truncf(type_, math_ops.fma(*(arith.extf(wide, each) for each in op.operands)))


def _number(type_: ir.Type, value: float) -> ir.Value:
    if not isinstance(type_, ir.VectorType):
        return arith.constant(type_, ir.FloatAttr.get(type_, value))
    element = ir.FloatAttr.get(type_.element_type, value)
    return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, element))
