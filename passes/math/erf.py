# SPDX-License-Identifier: MIT OR Apache-2.0
"""erf of an f32.

Below 0.9277 erf(x) = x + x P(x**2). Above, erf(x) = 1 - 2**-Q(x), where the error of Q shrinks
with the power; that erfc is nearly an exponential of a low polynomial is an idea of N. Juffa's.
The coefficients are minimax fits of ours, rounded to f32 one at a time.

Contraction and reassociation change only the rounding.
"""

from __future__ import annotations

from xyntra.passes.math.exp import EXP2
from xyntra.passes.math.exponent import power_of_two
from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["erf"]

_SWITCH = 0.9277
# Above this, erf(x) rounds to 1.
_HIGHEST = 3.925

# erf(sqrt(t)) / sqrt(t) - 1 on 0 <= t <= _SWITCH**2, error 2^-25.8.
_SMALL = (
    0.128379151,
    -0.376124918,
    0.112817675,
    -0.0267643556,
    0.00498943171,
    -0.000597026898,
)
# -log2(1 - erf(x)) on _SWITCH <= x <= _HIGHEST; the error of erf is 2^-28.8.
_LARGE = (
    0.000311840675,
    1.62676835,
    0.919470608,
    0.149754226,
    -0.0319753252,
    0.00436728308,
    -0.00028029579,
)


def erf(x: Float) -> Float:
    """Return the error function: odd, -0 stays -0, -1 and 1 at the infinities."""
    magnitude = abs(x)
    small = fma(x, polynomial(x * x, _SMALL), x)
    large = _erf_above_switch(magnitude).with_sign_of(x)
    # NaN takes the first branch.
    return (magnitude > _SWITCH).select(large, small)


def _erf_above_switch(magnitude: Float) -> Float:
    exponent = polynomial(magnitude.number_at_most(_HIGHEST), _LARGE)
    whole = exponent.round_even()
    power = power_of_two(magnitude.build.int(0) - whole.to_int())
    return 1.0 - polynomial(whole - exponent, EXP2) * power
