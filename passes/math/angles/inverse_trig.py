# SPDX-License-Identifier: MIT OR Apache-2.0
"""asin, acos, atan and atan2 of f32, in radians.

The reductions are the textbook ones (Cody and Waite, 1980): asin(x) = pi/2 - 2 asin(sqrt((1-x)/2))
above 1/2, and atan(x) = pi/2 - atan(1/x) above 1. The polynomials in x**2 are minimax fits of ours,
rounded to f32 one at a time.

Contraction is harmless; reassociation may merge the two parts of pi, and remove a correction.
"""

from __future__ import annotations

import math

from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["acos", "asin", "atan", "atan2"]

_HALF_PI_HIGH, _HALF_PI_LOW = 1.57079637, -4.37113883e-08
_PI_HIGH, _PI_LOW = 3.14159274, -8.74227766e-08

# (asin(x) - x) / x**3 on |x| <= 1/2, error below 2^-31 in relation to asin.
_ASIN = (0.166666597, 0.0750052184, 0.0445133746, 0.0318390764, 0.0143150669, 0.0376961157)
# (atan(x) - x) / x**3 on |x| <= 1, error below 2^-28 in relation to atan.
_ATAN = (
    -0.333332986,
    0.19998531,
    -0.142640516,
    0.109511748,
    -0.0840047523,
    0.0579065457,
    -0.0311270021,
    0.0108873611,
    -0.0017875476,
)


def asin(x: Float) -> Float:
    """Return the arc sine; -0 stays -0, NaN outside [-1, 1]."""
    magnitude = abs(x)
    root, tail = _asin_of_root(magnitude)
    # The rounding error of the difference is added back, so that the root's rounding is all that
    # the result inherits.
    difference = _HALF_PI_HIGH - root
    lost = (_HALF_PI_HIGH - difference) - root
    outer = difference - (tail - (lost + _HALF_PI_LOW))
    return (magnitude > 0.5).select(outer, _asin_small(magnitude)).with_sign_of(x)


def acos(x: Float) -> Float:
    """Return the arc cosine; NaN outside [-1, 1]."""
    magnitude = abs(x)
    root, tail = _asin_of_root(magnitude)
    double = root + tail
    outer = (x < 0.0).select((_PI_LOW - double) + _PI_HIGH, double)
    inner = (_HALF_PI_LOW - _asin_small(x)) + _HALF_PI_HIGH
    return (magnitude > 0.5).select(outer, inner)


def atan(x: Float) -> Float:
    """Return the arc tangent; -0 stays -0, -pi/2 and pi/2 at the infinities."""
    magnitude = abs(x)
    is_large = magnitude > 1.0
    angle = _atan_small(is_large.select(1.0 / magnitude, magnitude))
    complement = (_HALF_PI_LOW - angle) + _HALF_PI_HIGH
    return is_large.select(complement, angle).with_sign_of(x)


def atan2(y: Float, x: Float) -> Float:
    """Return the angle of the point (x, y), with the values of IEEE 754 at zeros and infinities."""
    height, width = abs(y), abs(x)
    is_steep = height > width
    larger = is_steep.select(height, width)
    smaller = is_steep.select(width, height)
    # 0/0 and inf/inf are the NaNs that stand for an axis and for a diagonal.
    ratio = larger.equals(0.0).select(0.0, smaller / larger)
    ratio = smaller.equals(math.inf).select(1.0, ratio)
    angle = _atan_small(ratio)
    # Measured from the nearest half-axis, so that one addition is rounded.
    is_left = x.bits() < 0
    angle = (is_steep ^ is_left).select(-angle, angle)
    low = is_steep.select(_HALF_PI_LOW, is_left.select(_PI_LOW, 0.0))
    high = is_steep.select(_HALF_PI_HIGH, is_left.select(_PI_HIGH, 0.0))
    angle = (angle + low) + high
    return y.unordered_with(x).select(math.nan, angle.with_sign_of(y))


def _asin_small(x: Float) -> Float:
    square = x * x
    return fma(x * square, polynomial(square, _ASIN), x)


def _asin_of_root(magnitude: Float) -> tuple[Float, Float]:
    """Return 2 asin(sqrt((1 - magnitude) / 2)) as a large and a small term; NaN above 1."""
    square = fma(magnitude, -0.5, 0.5)
    root = square.sqrt()
    double = root + root
    return double, double * square * polynomial(square, _ASIN)


def _atan_small(x: Float) -> Float:
    square = x * x
    return fma(x * square, polynomial(square, _ATAN), x)
