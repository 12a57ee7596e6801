# SPDX-License-Identifier: MIT OR Apache-2.0
"""powf and cbrt of an f64.

x**y is 2**(y log2 |x|), with the logarithm in two f64: the exponent reaches 1075 and the result
inherits its absolute error. With x = 2**n (1 + f) and s = f / (2 + f),
log2(1 + f) = 2 / ln 2 (s + s**3 (1/3 + …)), of which all but the tail is computed in two f64.
"""

from __future__ import annotations

import math

from xyntra.passes.math.constants import constant_float
from xyntra.passes.math.double.exp import EXP
from xyntra.passes.math.double.exponent import LEAST_NORMAL, scale, split_positive
from xyntra.passes.math.double_float import DoubleFloat, fast_two_sum
from xyntra.passes.math.power import over_two_plus, pair, with_signs_of_pow
from xyntra.passes.math.roots import cube_root
from xyntra.passes.math.simple_power import simple_power
from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["cbrt", "powf"]

# Beyond +-_SATURATED a power of two is inf or 0, whatever its last bits are.
_SATURATED = 1080.0
_THIRD = (0.3333333333333333, 1.850371707708594e-17)
_TWO_OVER_LN2 = (2.8853900817779268, 4.0710547481862066e-17)
_TAIL = tuple(1.0 / (2 * k + 5) for k in range(10))
# 4/3 of the bias in an encoding, lowered to centre the error of a guess at x**(-1/3).
_INVERSE_CBRT = 0x553F09FC40000000


def powf(x: Float, y: Float) -> Float:
    """Return x**y with the special values of IEEE 754's pow."""
    constant = constant_float(y.value)
    if constant is not None and (simple := simple_power(x, constant)) is not None:
        return simple
    return with_signs_of_pow(x, y, _magnitude(abs(x), y))


def cbrt(x: Float) -> Float:
    """Return the real cube root, negative for negative x; -0 stays -0."""
    return cube_root(x, _INVERSE_CBRT, LEAST_NORMAL, raised=54, steps=3)


def _magnitude(x: Float, y: Float) -> Float:
    """Return x**y for x >= 0, but NaN or an arbitrary number for 1**inf and 0**0."""
    logarithm = _log2(x)
    product = logarithm * DoubleFloat(y, y.build.float(0.0))
    # Infinite products have NaN for their low part.
    is_finite = abs(product.high) < _SATURATED
    low = is_finite.select(product.low, 0.0)
    bounded = product.high.at_least(-_SATURATED).at_most(_SATURATED)
    n = bounded.number_at_most(_SATURATED).round_even()
    r = (bounded - n) + low
    return scale(polynomial(r * math.log(2.0), EXP), n.to_int())


def _log2(x: Float) -> DoubleFloat:
    """Return log2(x) for x >= 0 to about 2**-64 of its size; infinite at 0 and inf."""
    whole, f = split_positive(x)
    s = over_two_plus(f)
    series = s.plus_smaller(s * (s * s * _third_and_tail(s)))
    scaled = series * pair(x, _TWO_OVER_LN2)
    total = fast_two_sum(whole, scaled.high)
    total = fast_two_sum(total.high, total.low + scaled.low)
    is_zero, is_infinite = x.equals(0.0), x.equals(math.inf)
    high = is_zero.select(-math.inf, is_infinite.select(math.inf, total.high))
    return DoubleFloat(high, (is_zero | is_infinite).select(0.0, total.low))


def _third_and_tail(s: DoubleFloat) -> DoubleFloat:
    square = fma(s.high, s.high, 0.0)
    tail = fma(square, polynomial(square, _TAIL), 0.0)
    third = pair(tail, _THIRD)
    return third.plus_smaller(DoubleFloat(tail, tail.build.float(0.0)))
