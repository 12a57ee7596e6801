# SPDX-License-Identifier: MIT OR Apache-2.0
"""tanh of an f32.

tanh(x) = q = e / (e + 2) with e = exp(2 |x|) - 1. For e < 1 the roundings of the sum and of the
quotient are made harmless by q = e / 2 - q e / 2, whose last term is the smaller one.

Contraction is harmless; reassociation breaks the reduction by ln 2 (see `exp`).
"""

from __future__ import annotations

from xyntra.passes.math.exp import EXPM1_TAIL, reduce_by_ln2
from xyntra.passes.math.exponent import power_of_two
from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["tanh"]

# tanh rounds to 1 above 9.011; the bound keeps e finite.
_HIGHEST = 9.1


def tanh(x: Float) -> Float:
    """Return the hyperbolic tangent: odd, -0 stays -0, -1 and 1 at the infinities."""
    magnitude = abs(x).at_most(_HIGHEST)
    n, r = reduce_by_ln2(magnitude + magnitude)
    small = fma(r * r, polynomial(r, EXPM1_TAIL), r)
    power = power_of_two(n)
    grown = fma(power, small, power - 1.0)
    quotient = grown / (grown + 2.0)
    half = grown * 0.5
    refined = fma(-half, quotient, half)
    return (grown < 1.0).select(refined, quotient).with_sign_of(x)
