# SPDX-License-Identifier: MIT OR Apache-2.0
"""asin, acos, atan and atan2 of an f64.

For |x| <= 1, atan(x) = atan(c) + atan((x - c) / (1 + x c)) with c the nearest eighth, and a series
of the second term, which is at most 1/16; for larger x it is pi / 2 - atan(1 / x).
"""

from __future__ import annotations

import math

from xyntra.passes.math.double_float import DoubleFloat, fast_two_sum
from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["acos", "asin", "atan", "atan2"]

# |t| <= 1/15: the first term left out is below 2**-58 of the result.
_SERIES = tuple((-1) ** (k + 1) / (2 * k + 3) for k in range(7))
# atan(k / 8) as sums of two f64.
_EIGHTHS = (
    (0.0, 0.0),
    (0.12435499454676144, -3.1253241424539383e-18),
    (0.24497866312686414, 1.0698755618734451e-17),
    (0.35877067027057225, -2.4623815582638635e-17),
    (0.4636476090008061, 2.2698777452961687e-17),
    (0.5585993153435624, -5.4556305485916264e-18),
    (0.6435011087932844, 1.5834785051444286e-17),
    (0.7188299996216245, -2.1478388444456983e-17),
    (0.7853981633974483, 3.061616997868383e-17),
)
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
_PI = (3.141592653589793, 1.2246467991473532e-16)


def atan(x: Float) -> Float:
    """Return the inverse tangent: odd, -0 stays -0, pi / 2 at inf."""
    magnitude = abs(x)
    angle = _angle(magnitude, x.build.float(1.0))
    return (angle.high + angle.low).with_sign_of(x)


def atan2(y: Float, x: Float) -> Float:
    """Return the angle of the point (x, y), with C's values for zeros and infinities."""
    across, along = abs(y), abs(x)
    angle = _angle(across, along)
    is_left = x.bits() < 0
    left = _minus(_PI, angle)
    result = is_left.select(left, angle.high + angle.low)
    return _nan_if_unordered(result.with_sign_of(y), x, y)


def asin(x: Float) -> Float:
    """Return the inverse sine: odd, -0 stays -0, NaN beyond 1."""
    magnitude = abs(x)
    angle = _angle(magnitude, _cathetus(magnitude))
    # Of numbers whose square is far below one unit in the last place of 1.
    result = (magnitude < 2.0**-27).select(magnitude, angle.high + angle.low)
    return (magnitude > 1.0).select(math.nan, result.with_sign_of(x))


def acos(x: Float) -> Float:
    """Return the inverse cosine: 0 at 1, NaN beyond."""
    magnitude = abs(x)
    angle = _angle(_cathetus(magnitude), magnitude)
    result = (x < 0.0).select(_minus(_PI, angle), angle.high + angle.low)
    return _nan_if_unordered((magnitude > 1.0).select(math.nan, result), x, x)


def _cathetus(magnitude: Float) -> Float:
    """Return sqrt(1 - m**2) without cancellation."""
    return ((1.0 - magnitude) * (magnitude + 1.0)).at_least(0.0).sqrt()


def _angle(across: Float, along: Float) -> DoubleFloat:
    """Return atan(across / along) of two numbers that are not negative, 0 for two zeros."""
    is_steep = across > along
    larger, smaller = is_steep.select(across, along), is_steep.select(along, across)
    both_infinite = smaller.equals(math.inf)
    ratio = smaller / larger
    ratio = both_infinite.select(1.0, larger.equals(0.0).select(0.0, ratio))
    # What the division lost, which the angle of a steep slope would show; large and tiny numbers
    # would overflow in it, or lose bits.
    lost = fma(-ratio, larger, smaller) / larger
    is_moderate = (larger < 2.0**1000) & (smaller > 2.0**-900)
    angle = _atan_of_ratio(ratio, is_moderate.select(lost, 0.0))
    steep = _pair_minus(_HALF_PI, angle)
    return DoubleFloat(
        is_steep.select(steep.high, angle.high), is_steep.select(steep.low, angle.low)
    )


def _atan_of_ratio(x: Float, lost: Float) -> DoubleFloat:
    """Return atan(x + lost) for 0 <= x <= 1."""
    eighths = (x * 8.0).number_at_most(8.0).round_even()
    high, low = x.build.float(0.0), x.build.float(0.0)
    for index, (first, second) in enumerate(_EIGHTHS):
        is_here = eighths.equals(float(index))
        high, low = is_here.select(first, high), is_here.select(second, low)
    centre = eighths * 0.125
    t = ((x - centre) + lost) / fma(x, centre, 1.0)
    square = t * t
    tail = fma(t * square, polynomial(square, _SERIES), low)
    total = fast_two_sum(high, t)
    # Where the centre is 0, t is all there is.
    is_first = eighths.equals(0.0)
    head = is_first.select(t, total.high)
    return DoubleFloat(head, is_first.select(tail, total.low + tail))


def _pair_minus(parts: tuple[float, float], angle: DoubleFloat) -> DoubleFloat:
    high, low = parts
    total = fast_two_sum(angle.high.build.float(high), -angle.high)
    return DoubleFloat(total.high, total.low + (low - angle.low))


def _minus(parts: tuple[float, float], angle: DoubleFloat) -> Float:
    total = _pair_minus(parts, angle)
    return total.high + total.low


def _nan_if_unordered(result: Float, x: Float, y: Float) -> Float:
    return x.unordered_with(y).select(math.nan, result)
