# SPDX-License-Identifier: MIT OR Apache-2.0
"""exp, exp2 and expm1 of an f32.

Method (Cody and Waite, *Software Manual for the Elementary Functions*, 1980): x = n ln 2 + r with
|r| <= ln 2 / 2, a polynomial in r, and a multiplication by 2**n. ln 2 is split into a part whose
product with any n used here is exact, and a remainder. The coefficients are minimax fits of ours,
rounded to f32 one at a time.

Contraction of the emitted multiplications and additions is harmless. Reassociation is not: it
may merge the two parts of ln 2, or the two factors of a denormal result.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.passes.math.exponent import power_of_two
from xyntra.passes.math.values import Float, Int, fma, polynomial

__all__ = [
    "exp",
    "exp2",
    "exp2_flushed",
    "exp_at_most_zero",
    "expm1",
    "reduce_by_ln2",
    "reduce_sum_by_ln2",
]

LOG2_E = 1.4426950408889634
# 0x1.62e400p-1 has 9 trailing zero bits: its product with |n| < 512 is exact.
LN2_HIGH = 0.693145751953125
LN2_LOW = 1.42860677e-06

# exp(r) on |r| <= ln 2 / 2, relative error 2^-28.2.
EXP = (1.0, 1.0, 0.49999994, 0.166665211, 0.0416682661, 0.00836867746, 0.00138207339)
# 2**r on |r| <= 1/2, relative error 2^-28.3.
EXP2 = (
    1.0,
    0.693147182,
    0.240226477,
    0.0555035956,
    0.00961849932,
    0.00133909762,
    0.000153293367,
)
# (exp(r) - 1 - r) / r**2 on |r| <= ln 2 / 2, relative error of exp(r) - 1 below 2^-31.
EXPM1_TAIL = (0.5, 0.166666657, 0.0416664928, 0.00833354518, 0.00139323308, 0.000197625719)

# exp(-104) is below half the least denormal.
_EXP_LOWEST = -104.0
_EXP2_LOWEST = -151.0
# 2**128 overflows for every r >= 0, and a smaller r is never left with it by a larger x.
_HIGHEST_EXPONENT = 128.0
# Rounds to -127, the encoding of whose power of two would be that of 0.
_FLUSHED = -127.0
# Adding it rounds to an integer, whose sum with the bias of exponents is in the low bits.
_ROUNDING = 1.5 * 2.0**23 + 127
# The same with twice the bias, for two factors.
_ROUNDING_TWICE = 1.5 * 2.0**23 + 254
# 2**64 times the power, which keeps the least one above the denormal numbers.
_ROUNDING_RAISED = 1.5 * 2.0**23 + 127 + 64
# exp overflows from 88.7228 on, and exp2 from 128; where x is larger, n stays at 128.
_EXP_HIGHEST = 88.8
_EXP2_HIGHEST = 128.0
# exp(x) - 1 rounds to -1 below -17.33.
_EXPM1_LOWEST = -18.0
# exp(x) - 1 rounds to x below, and -0 stays -0.
_EXPM1_IS_IDENTITY = 2.0**-25


def exp(x: Float) -> Float:
    """Return e**x; 0 at -inf, denormal results rounded correctly, +inf above 88.7228."""
    bounded = x.at_least(_EXP_LOWEST)
    # Above the bound r grows without limit and the polynomial, all of whose coefficients are
    # positive, takes the result to +inf.
    shifted = fma(bounded.at_most(_EXP_HIGHEST), LOG2_E, x.build.float(_ROUNDING_TWICE))
    n = shifted - _ROUNDING_TWICE
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, bounded))
    return _scaled(polynomial(r, EXP), shifted)


def exp_at_most_zero(x: Float) -> Float:
    """Return e**x for x <= 0; as `exp`, with one factor and a shorter chain of operations."""
    bounded = x.at_least(_EXP_LOWEST)
    shifted = fma(bounded, LOG2_E, x.build.float(_ROUNDING_RAISED))
    n = shifted - _ROUNDING_RAISED
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, bounded))
    power = (shifted.bits() << 23).as_float()
    return fma(power * r, _split(r, EXP), power) * 2.0**-64


def _split(r: Float, coefficients: Sequence[float]) -> Float:
    """Return (P(r) - 1) / r for a polynomial of degree 6 (Estrin)."""
    low, middle, high = (
        fma(r, coefficients[i + 1], r.build.float(coefficients[i])) for i in (1, 3, 5)
    )
    square = r * r
    return fma(square, fma(square, high, middle), low)


def exp2_flushed(x: Float) -> Float:
    """Return 2**x for x <= 127, but 0 below -126.5; NaN stays NaN. Half the work of `exp2`."""
    bounded = x.at_least(_FLUSHED)
    shifted = bounded + _ROUNDING
    power = (shifted.bits() << 23).as_float()
    r = bounded - (shifted - _ROUNDING)
    return fma(power * r, _split(r, EXP2), power)


def exp2(x: Float) -> Float:
    """Return 2**x; exact for integers, 0 at -inf, +inf from 128."""
    bounded = x.at_least(_EXP2_LOWEST)
    shifted = bounded.at_most(_EXP2_HIGHEST) + _ROUNDING_TWICE
    return _scaled(polynomial(bounded - (shifted - _ROUNDING_TWICE), EXP2), shifted)


def _scaled(x: Float, shifted: Float) -> Float:
    """Return x * 2**n, rounded once, given n + _ROUNDING_TWICE; otherwise as `scale`.

    The low bits of `shifted` hold n and twice the bias: their halves encode the two factors.
    """
    both = shifted.bits()
    half = both.shift_right_logical(1)
    return x * (half << 23).as_float() * ((both - half) << 23).as_float()


def expm1(x: Float) -> Float:
    """Return e**x - 1 with small relative error near 0; -0 stays -0, -1 at -inf."""
    n, r = reduce_by_ln2(x.at_least(_EXPM1_LOWEST))
    small = fma(r * r, polynomial(r, EXPM1_TAIL), r)
    # 2**(n - 1) keeps the factor finite at n = 128.
    half = power_of_two(n - 1)
    result = fma(half, small, half - 0.5)
    # Halving a denormal number would lose its last bit.
    return (abs(x) < _EXPM1_IS_IDENTITY).select(x, result + result)


def reduce_by_ln2(x: Float, highest: float = _HIGHEST_EXPONENT) -> tuple[Int, Float]:
    """Return (n, r) with x = n ln 2 + r.

    |r| <= ln 2 / 2, except that n stays at `highest` from there on, while r grows with x up to
    +inf. NaN gives n = `highest` (never poison) and r = NaN.
    """
    n = (x * LOG2_E).number_at_most(highest).round_even()
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x))
    return n.to_int(), r


def reduce_sum_by_ln2(large: Float, small: Float) -> tuple[Int, Float]:
    """Return (n, r) with large + small = n ln 2 + r, rounded in r only; otherwise the same."""
    n = ((large + small) * LOG2_E).number_at_most(_HIGHEST_EXPONENT).round_even()
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, large) + small)
    return n.to_int(), r
