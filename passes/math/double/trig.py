# SPDX-License-Identifier: MIT OR Apache-2.0
"""sin, cos and tan of an f64 in radians, for arguments of every size."""

from __future__ import annotations

import math

from xyntra.passes.math.angles.reduce_angle import Angle
from xyntra.passes.math.double.reduce_angle import reduce_angle
from xyntra.passes.math.double_float import DoubleFloat, fast_two_sum
from xyntra.passes.math.values import Bool, Float, Int, fma, polynomial

__all__ = ["cos", "sin", "sincos", "tan"]

# |r| <= pi / 4: the first terms left out are below 2**-58 of the results.
_SIN = tuple((-1) ** (k + 1) / math.factorial(2 * k + 3) for k in range(8))
_COS = tuple((-1) ** k / math.factorial(2 * k + 4) for k in range(8))


def sin(x: Float) -> Float:
    """Return the sine; -0 stays -0, NaN at the infinities."""
    angle = reduce_angle(x)
    return _wave(angle, angle.quadrant, x)


def cos(x: Float) -> Float:
    """Return the cosine; NaN at the infinities."""
    angle = reduce_angle(x)
    return _wave(angle, angle.quadrant + 1, None)


def sincos(x: Float) -> tuple[Float, Float]:
    """Return sine and cosine with one reduction."""
    angle = reduce_angle(x)
    return _wave(angle, angle.quadrant, x), _wave(angle, angle.quadrant + 1, None)


def tan(x: Float) -> Float:
    """Return the tangent; -0 stays -0, NaN at the infinities."""
    angle = reduce_angle(x)
    sine, cosine = _sine(angle), _cosine(angle)
    is_odd = (angle.quadrant & 1).equals(1)
    above = is_odd.select(-cosine.high, sine.high), is_odd.select(-cosine.low, sine.low)
    below = is_odd.select(sine.high, cosine.high), is_odd.select(sine.low, cosine.low)
    quotient = above[0] / below[0]
    # One step of Newton's, which takes the low parts in.
    rest = fma(-quotient, below[0], above[0]) + fma(-quotient, below[1], above[1])
    finite = quotient + rest / below[0]
    return _negated_where(finite, x.bits() < 0)


def _wave(angle: Angle, quadrant: Int, sign: Float | None) -> Float:
    """Return sin(quadrant * pi / 2 + remainder), negated where `sign` has the sign bit."""
    sine, cosine = _sine(angle), _cosine(angle)
    magnitude = (quadrant & 1).equals(1).select(cosine.high, sine.high)
    flip = (quadrant & 2).equals(2)
    return _negated_where(magnitude, flip if sign is None else flip ^ (sign.bits() < 0))


def _sine(angle: Angle) -> DoubleFloat:
    r, correction = angle.remainder, angle.correction
    square = r * r
    # sin(r + c) = sin(r) + c cos(r), and cos(r) = 1 - r**2 / 2 is near enough.
    tail = fma(r * square, polynomial(square, _SIN), fma(square * -0.5, correction, correction))
    return fast_two_sum(r, tail)


def _cosine(angle: Angle) -> DoubleFloat:
    r, correction = angle.remainder, angle.correction
    square = fma(r, r, 0.0)
    tail = fma(square * square, polynomial(square, _COS), -(r * correction))
    high = fma(square, -0.5, 1.0)
    lost = fma(square, -0.5, 1.0 - high)
    return fast_two_sum(high, lost + fma(fma(r, r, -square), -0.5, tail))


def _negated_where(x: Float, condition: Bool) -> Float:
    return condition.select(-x, x)
