# SPDX-License-Identifier: MIT OR Apache-2.0
"""exp, exp2, expm1, sinh, cosh and tanh of an f64.

x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial in r, and a multiplication by 2**n (Cody and
Waite, 1980).
"""

from __future__ import annotations

import math

from xyntra.passes.math.double.exponent import power_of_two, scale
from xyntra.passes.math.values import Float, Int, fma, polynomial

__all__ = ["EXP", "cosh", "exp", "exp2", "expm1", "reduce_sum_by_ln2", "sinh", "tanh"]

# The high part ends in 12 zero bits: its product with |n| < 2**11 is exact.
_LN2_HIGH, _LN2_LOW = 0.693147180559663, 2.8235290563031577e-13
_LOG2_E = 1.4426950408889634
# The first term left out is below 2**-57 of the result.
EXP = tuple(1 / math.factorial(k) for k in range(14))
_EXPM1_TAIL = tuple(1 / math.factorial(k + 2) for k in range(13))

_LOWEST, _HIGHEST = -746.0, 709.8
_EXP2_LOWEST, _EXP2_HIGHEST = -1076.0, 1024.0
_EXPM1_LOWEST = -40.0
_EXPM1_IS_IDENTITY = 2.0**-54
# tanh rounds to 1 above.
_TANH_HIGHEST = 20.0


def exp(x: Float) -> Float:
    """Return e**x; 0 at -inf, denormal results rounded correctly, +inf where it overflows."""
    n, r = _reduce_by_ln2(x.at_least(_LOWEST))
    result = scale(polynomial(r, EXP), n)
    return (x > _HIGHEST).select(math.inf, result)


def exp2(x: Float) -> Float:
    """Return 2**x; exact for integers, 0 at -inf, +inf from 1024."""
    bounded = x.at_least(_EXP2_LOWEST)
    n = bounded.number_at_most(_EXP2_HIGHEST).round_even()
    result = scale(polynomial((bounded - n) * math.log(2), EXP), n.to_int())
    return (x < _EXP2_HIGHEST).select(result, x.unordered_with(x).select(x, math.inf))


def expm1(x: Float) -> Float:
    """Return e**x - 1 with small relative error near 0; -0 stays -0, -1 at -inf."""
    result = _expm1(x.at_least(_EXPM1_LOWEST))
    large = (x > _HIGHEST).select(math.inf, result)
    return (abs(x) < _EXPM1_IS_IDENTITY).select(x, large)


def sinh(x: Float) -> Float:
    """Return the hyperbolic sine: odd, -0 stays -0, overflows only where it must."""
    magnitude = abs(x)
    # e**(m / 2) squared, where e**m would overflow.
    root = exp(magnitude * 0.5)
    grown = _expm1(magnitude.at_most(_TANH_HIGHEST))
    small = (grown + grown / (grown + 1.0)) * 0.5
    tiny = (magnitude < 2.0**-28).select(magnitude, small)
    return (magnitude > _TANH_HIGHEST).select(root * 0.5 * root, tiny).with_sign_of(x)


def cosh(x: Float) -> Float:
    """Return the hyperbolic cosine: even, overflows only where it must."""
    magnitude = abs(x)
    root = exp(magnitude * 0.5)
    power = exp(magnitude.at_most(_TANH_HIGHEST))
    small = power * 0.5 + 0.5 / power
    return (magnitude > _TANH_HIGHEST).select(root * 0.5 * root, small)


def tanh(x: Float) -> Float:
    """Return the hyperbolic tangent: odd, -0 stays -0, -1 and 1 at the infinities."""
    magnitude = abs(x).at_most(_TANH_HIGHEST)
    grown = _expm1(magnitude + magnitude)
    quotient = grown / (grown + 2.0)
    half = grown * 0.5
    # For grown < 1 this makes the roundings of the sum and of the quotient harmless.
    refined = fma(-half, quotient, half)
    return (grown < 1.0).select(refined, quotient).with_sign_of(x)


def reduce_sum_by_ln2(large: Float, small: Float) -> tuple[Int, Float]:
    """Return (n, r) with large + small = n ln 2 + r, rounded in r only."""
    n = ((large + small) * _LOG2_E).number_at_most(_EXP2_HIGHEST).round_even()
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, large) + small)
    return n.to_int(), r


def _expm1(x: Float) -> Float:
    """Return e**x - 1 for -40 <= x < 709.8."""
    n, r = _reduce_by_ln2(x)
    small = fma(r * r, polynomial(r, _EXPM1_TAIL), r)
    # 2**(n - 1) keeps the factor finite at n = 1024.
    half = power_of_two(n - 1)
    result = fma(half, small, half - 0.5)
    return result + result


def _reduce_by_ln2(x: Float) -> tuple[Int, Float]:
    """Return (n, r) with x = n ln 2 + r; NaN gives some n and r = NaN."""
    return reduce_sum_by_ln2(x, x.build.float(0.0))
