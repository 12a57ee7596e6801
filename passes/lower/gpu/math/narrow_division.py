# SPDX-License-Identifier: MIT OR Apache-2.0
"""Divisions of f32 and f16 where all results of a kernel have 16 bits.

A correctly rounded division has a branch for divisors of unusual size. Here 1 is divided by 1 plus
something positive, as in a sigmoid, by the GPU's reciprocal (2**-23 off; divisors above 2**126 give
zero), a constant divides as its reciprocal (one unit in the last place), and everything else by an
instruction for all sizes (two units).
"""

from __future__ import annotations

from math import isfinite

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.analysis.owners import constant_number, owner_of
from xyntra.passes.lower.gpu.math.narrow_functions import gives_narrow
from xyntra.passes.lower.gpu.math.placeholders import f32_constant

_RECIPROCAL = "#arith.fastmath<afn>"
_ANY_SIZE = "#arith.fastmath<arcp>"
_POSITIVE = ("math.absf", "math.exp", "math.exp2")
_LEAST, _LARGEST = 2.0**-126, 2.0**126


def shorten_divisions(module: ir.Operation) -> None:
    """Mark divisions of f32 and f16 as approximate, or multiply, in a kernel of 16-bit results."""
    found = operations_named(module, "arith.divf")
    if not found or not gives_narrow(kernel_function(module)):
        return
    for op in map(_widened, found):
        if not isinstance(op.result.type, ir.F32Type):
            continue
        divisor = constant_number(op.operands[1])
        if divisor is not None and isfinite(divisor) and _LEAST <= abs(divisor) <= _LARGEST:
            with op.location, ir.InsertionPoint(op):
                product = arith.mulf(op.operands[0], f32_constant(1.0 / divisor))
            op.result.replace_all_uses_with(product)
            op.erase()
            continue
        is_share = constant_number(op.operands[0]) == 1.0 and _is_above_one(op.operands[1])
        op.attributes["fastmath"] = ir.Attribute.parse(_RECIPROCAL if is_share else _ANY_SIZE)


def _widened(op: ir.Operation) -> ir.Operation:
    """Return the division of f32s that takes the place of one of f16s, or else `op` itself."""
    if not isinstance(op.result.type, ir.F16Type):
        return op
    wide = ir.F32Type.get()
    with op.location, ir.InsertionPoint(op):
        constants = [constant_number(each) for each in op.operands]
        operands = [
            arith.extf(wide, each) if number is None else f32_constant(number)
            for number, each in zip(constants, op.operands, strict=True)
        ]
        quotient = ir.Operation.create("arith.divf", operands=operands, results=[wide])
        rounded = arith.truncf(op.result.type, quotient.result)
    op.result.replace_all_uses_with(rounded)
    op.erase()
    return quotient


def _is_above_one(value: ir.Value) -> bool:
    """Tell whether a value is 1 plus something that is not negative, or no number."""
    total = owner_of(value, "arith.addf")
    if total is None:
        return False
    one = [constant_number(each) == 1.0 for each in total.operands]
    return any(one) and _is_positive(total.operands[one.index(True) ^ 1])


def _is_positive(value: ir.Value) -> bool:
    op = owner_of(value)
    if op is None:
        return False
    return op.name in _POSITIVE or (op.name == "arith.mulf" and op.operands[0] == op.operands[1])
