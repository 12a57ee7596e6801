# SPDX-License-Identifier: MIT OR Apache-2.0
"""powf of f32: x**y as 2**(y log2 |x|), with the logarithm in two f32.

The exponent reaches 150 and the result inherits its absolute error, so that log2 |x| needs about
33 bits: with x = 2**n (1 + f) and s = f / (2 + f), log2(1 + f) = 2 / ln 2 (s + s**3 (1/3 + ...)),
of which all but the tail is computed in two f32 (see `double_float` for what they rely on).
"""

from __future__ import annotations

import math

from xyntra.passes.math.constants import constant_float
from xyntra.passes.math.double_float import DoubleFloat, fast_two_sum
from xyntra.passes.math.exp import EXP2
from xyntra.passes.math.exponent import scale, split_near_one
from xyntra.passes.math.simple_power import simple_power
from xyntra.passes.math.values import Bool, Float, fma, polynomial

__all__ = ["magnitude_of_power", "over_two_plus", "pair", "powf", "with_signs_of_pow"]

_LEAST_NORMAL = 2.0**-126
# Beyond +-_SATURATED a power of two is inf or 0, whatever its last bits are.
_SATURATED = 155.0

_THIRD = (0.333333343, -9.93410776e-09)
_TWO_OVER_LN2 = (2.88539004, 3.85192607e-08)
# (atanh(s) / s - 1 - s**2 / 3) / s**4 in s**2 for |s| <= 0.1716, absolute error 2^-36.7.
_TAIL = (0.200000763, 0.142735392, 0.117100701)


def powf(x: Float, y: Float) -> Float:
    """Return x**y with the special values of IEEE 754's pow.

    x**0 and 1**y are 1 even for NaN, (-1)**inf is 1, a negative x to a power that is not an integer
    is NaN, and zeros, infinities and signs follow from y being an odd integer, an even one or none.
    """
    constant = constant_float(y.value)
    if constant is not None and (simple := simple_power(x, constant)) is not None:
        return simple
    return with_signs_of_pow(x, y, magnitude_of_power(abs(x), DoubleFloat(y, y.build.float(0.0))))


def with_signs_of_pow(x: Float, y: Float, magnitude: Float) -> Float:
    """Return x**y, given |x|**y where that has no special value."""
    result = abs(x).equals(1.0).select(1.0, magnitude)
    is_integer = y.round_even().equals(y)
    half = y * 0.5
    is_odd = is_integer & half.round_even().differs(half)
    is_negative = x.bits() < 0
    result = (is_negative & is_odd).select(-result, result)
    is_undefined = (x < 0.0) & (x > -math.inf) & y.round_even().differs(y)
    result = (is_undefined | x.unordered_with(y)).select(math.nan, result)
    return (x.equals(1.0) | y.equals(0.0)).select(1.0, result)


def magnitude_of_power(x: Float, y: DoubleFloat) -> Float:
    """Return x**y for x >= 0, but NaN or an arbitrary number for 1**inf and 0**0."""
    logarithm = _log2(x)
    product = logarithm * y
    # Infinite products have NaN for their low part.
    is_finite = abs(product.high) < _SATURATED
    low = is_finite.select(product.low, 0.0)
    bounded = product.high.at_least(-_SATURATED).at_most(_SATURATED)
    n = bounded.number_at_most(_SATURATED).round_even()
    r = (bounded - n) + low
    return scale(polynomial(r, EXP2), n.to_int())


def _log2(x: Float) -> DoubleFloat:
    """Return log2(x) for x >= 0 to about 2**-36 of its size; infinite at 0 and inf."""
    is_tiny = x < _LEAST_NORMAL
    n, mantissa = split_near_one(is_tiny.select(x * 2.0**23, x))
    whole = (n - is_tiny.select_int(23, 0)).to_float()
    s = over_two_plus(mantissa - 1.0)
    series = s.plus_smaller(s * (s * s * _third_and_tail(s)))
    scaled = series * pair(x, _TWO_OVER_LN2)
    total = fast_two_sum(whole, scaled.high)
    total = fast_two_sum(total.high, total.low + scaled.low)
    return _with_special_values(x, total)


def over_two_plus(f: Float) -> DoubleFloat:
    """Return f / (2 + f)."""
    divisor = fast_two_sum(f.build.float(2.0), f)
    inverse = 1.0 / divisor.high
    quotient = fma(f, inverse, 0.0)
    rest = fma(-quotient, divisor.low, fma(-quotient, divisor.high, f))
    return DoubleFloat(quotient, rest * inverse)


def _third_and_tail(s: DoubleFloat) -> DoubleFloat:
    square = fma(s.high, s.high, 0.0)
    tail = fma(square, polynomial(square, _TAIL), 0.0)
    third = pair(tail, _THIRD)
    return third.plus_smaller(DoubleFloat(tail, tail.build.float(0.0)))


def pair(like: Float, parts: tuple[float, float]) -> DoubleFloat:
    """Return two constants as one number, of the type of `like`."""
    high, low = parts
    return DoubleFloat(like.build.float(high), like.build.float(low))


def _with_special_values(x: Float, logarithm: DoubleFloat) -> DoubleFloat:
    is_zero = x.equals(0.0)
    is_infinite = x.equals(math.inf)
    high = is_zero.select(-math.inf, is_infinite.select(math.inf, logarithm.high))
    return DoubleFloat(high, _either(is_zero, is_infinite).select(0.0, logarithm.low))


def _either(first: Bool, second: Bool) -> Bool:
    return first | second
