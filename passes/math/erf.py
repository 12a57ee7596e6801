# SPDX-License-Identifier: MIT OR Apache-2.0
"""erf and erfc of an f32.

Below 0.9277 erf(x) = x + x P(x**2). Above, erf(x) = 1 - 2**-Q(x), where the error of Q shrinks
with the power.

Below 1/2 erfc(x) = 1 - erf(x). Above, erfc(x) = exp(-x**2) R(t) / (1 + 2 x) with
t = (x - 2) / (x + 2), which maps the half-line to [-1, 1] (M. M. Shepherd and J. G. Laframboise,
*Chebyshev Approximation of (1+2x)exp(x^2)erfc x in 0 <= x < inf*, Math. Comp. 36, 1981).

The coefficients are minimax fits of ours, rounded to f32 one at a time.

Contraction is harmless; reassociation breaks the reduction by ln 2 (see `exp`).
"""

from __future__ import annotations

from xyntra.passes.math.exp import EXP, EXP2, reduce_sum_by_ln2
from xyntra.passes.math.exponent import power_of_two, scale
from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["ERF_HIGHEST", "ERF_LARGE", "ERF_SWITCH", "erf", "erf_below_switch", "erfc"]

ERF_SWITCH = 0.9277
# Above this, erf(x) rounds to 1.
ERF_HIGHEST = 3.925

# erf(sqrt(t)) / sqrt(t) - 1 on 0 <= t <= ERF_SWITCH**2, error 2^-25.8.
_SMALL = (
    0.128379151,
    -0.376124918,
    0.112817675,
    -0.0267643556,
    0.00498943171,
    -0.000597026898,
)
# -log2(1 - erf(x)) on ERF_SWITCH <= x <= ERF_HIGHEST; the error of erf is 2^-28.8.
ERF_LARGE = (
    0.000311840675,
    1.62676835,
    0.919470608,
    0.149754226,
    -0.0319753252,
    0.00436728308,
    -0.00028029579,
)
# erfc(x) underflows to 0 above 10.06.
_ERFC_HIGHEST = 10.1
# (1 + 2 x) exp(x**2) erfc(x) in t = (x - 2) / (x + 2) on 0 <= x <= _ERFC_HIGHEST, error 2^-25.9.
_ERFC = (
    1.27697837,
    -0.0927639157,
    -0.166030958,
    0.164054587,
    -0.0542075075,
    -0.00805790257,
    0.00864046253,
    0.0013140497,
    -0.00123831606,
    -0.000404749095,
)


def erf(x: Float) -> Float:
    """Return the error function: odd, -0 stays -0, -1 and 1 at the infinities."""
    magnitude = abs(x)
    small = erf_below_switch(x)
    large = _erf_above_switch(magnitude).with_sign_of(x)
    # NaN takes the first branch.
    return (magnitude > ERF_SWITCH).select(large, small)


def erfc(x: Float) -> Float:
    """Return 1 - erf(x) without cancellation: 2 at -inf, 0 at +inf through denormal results."""
    magnitude = abs(x).at_most(_ERFC_HIGHEST)
    t = (magnitude - 2.0) / (magnitude + 2.0)
    factor = polynomial(t, _ERFC) / fma(magnitude, 2.0, 1.0)
    # The upper half of x has an exact square, so that exp's argument is known to its last bit.
    upper = (magnitude.bits() & ~0xFFF).as_float()
    rest = (upper - magnitude) * (upper + magnitude)
    n, r = reduce_sum_by_ln2(-(upper * upper), rest)
    power = polynomial(r, EXP) * factor
    positive = scale(power, n)
    outer = (x < 0.0).select(2.0 - positive, positive)
    return (magnitude < 0.5).select(1.0 - erf_below_switch(x), outer)


def erf_below_switch(x: Float) -> Float:
    """Return erf(x) for |x| up to `ERF_SWITCH`."""
    return fma(x, polynomial(x * x, _SMALL), x)


def _erf_above_switch(magnitude: Float) -> Float:
    exponent = polynomial(magnitude.number_at_most(ERF_HIGHEST), ERF_LARGE)
    whole = exponent.round_even()
    power = power_of_two(magnitude.build.int(0) - whole.to_int())
    return 1.0 - polynomial(whole - exponent, EXP2) * power
