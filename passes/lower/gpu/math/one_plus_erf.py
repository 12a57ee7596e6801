# SPDX-License-Identifier: MIT OR Apache-2.0
"""1 + erf(x), the larger part of a GELU, by way of the GPU's exponential.

For x >= 0, erfc(x) = 2**-P(x) with a polynomial P, fitted on 0 <= x <= 9 for the least absolute
error of erfc, which is 9e-8; the instruction ex2.approx adds up to 1.7e-7 near x = 0 (PTX ISA,
"ex2": a relative error of 2**-22.5). Behind 9 the polynomial grows on, and the power is zero. Then
1 + erf(x) is 2 - erfc(x), and erfc(-x) where x is negative, so that nothing cancels.
"""

from __future__ import annotations

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.math.placeholders import expand, f32_constant, hide_one_plus

COEFFICIENTS = (
    1.6279118061065674,
    0.9183600544929504,
    0.14879406988620758,
    -0.029038166627287865,
    0.0017835116013884544,
    0.0008045102003961802,
    -0.00021341397950891405,
    1.4610298421757761e-05,
)
"""Of x, x**2, … in P(x)."""
_NAME = "xyntra.one_plus_erf"


def hide_one_plus_erf(module: ir.Operation) -> None:
    """Put a placeholder where 1 is added to the erf of an f32, which nothing else reads."""
    hide_one_plus(module, "math.erf", _NAME)


def expand_one_plus_erf(module: ir.Operation) -> None:
    """Put arithmetic in the place of what `hide_one_plus_erf` has left."""
    expand(module, _NAME, lambda x, _: _one_plus_erf(x))


def _one_plus_erf(x: ir.Value) -> ir.Value:
    kind = x.type
    distance = emit("math.absf", [x], kind)
    power = f32_constant(-COEFFICIENTS[-1])
    for coefficient in reversed(COEFFICIENTS[:-1]):
        power = emit("math.fma", [power, distance, f32_constant(-coefficient)], kind)
    rest = emit("math.exp2", [arith.mulf(power, distance)], kind)
    is_negative = arith.cmpf(arith.CmpFPredicate.OLT, x, f32_constant(0.0))
    return arith.select(is_negative, rest, arith.subf(f32_constant(2.0), rest))
