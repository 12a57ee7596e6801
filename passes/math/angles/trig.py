# SPDX-License-Identifier: MIT OR Apache-2.0
"""sin, cos and tan of an f32 in radians, for arguments of every size.

The angle is reduced to |r| <= pi / 4 (see `reduce_angle`); the polynomials in r**2 are minimax fits
of ours, rounded to f32 one at a time.
"""

from __future__ import annotations

from xyntra.passes.math.angles.reduce_angle import Angle, reduce_angle
from xyntra.passes.math.values import Float, Int, fma, polynomial

__all__ = ["cos", "sin", "sincos", "tan", "wave_of"]

# (sin(r) - r) / r**3, error of sin below 2^-32 in relation to sin.
_SIN = (-0.166666672, 0.0083333794, -0.000198530659, 2.83253962e-06)
# (cos(r) - 1 + r**2 / 2) / r**4, error of cos below 2^-32.
_COS = (0.0416666456, -0.00138873083, 2.44321072e-05)
# (tan(r) - r) / r**3, error of tan below 2^-29 in relation to tan.
_TAN = (
    0.333333492,
    0.133326694,
    0.0540599711,
    0.0212794207,
    0.0108475918,
    7.01225727e-05,
    0.00438763481,
)

_SIGN = 0x80000000


def sin(x: Float) -> Float:
    """Return the sine; -0 stays -0, NaN at the infinities."""
    angle = reduce_angle(x)
    return _wave(angle, angle.quadrant, x.bits() & _SIGN)


def cos(x: Float) -> Float:
    """Return the cosine; NaN at the infinities."""
    angle = reduce_angle(x)
    return _wave(angle, angle.quadrant + 1, None)


def sincos(x: Float) -> tuple[Float, Float]:
    """Return sine and cosine with one reduction."""
    angle = reduce_angle(x)
    sine = _wave(angle, angle.quadrant, x.bits() & _SIGN)
    return sine, _wave(angle, angle.quadrant + 1, None)


def tan(x: Float) -> Float:
    """Return the tangent; -0 stays -0, NaN at the infinities."""
    angle = reduce_angle(x)
    r, correction = angle.remainder, angle.correction
    square = r * r
    tail = fma(r * square, polynomial(square, _TAN), fma(correction, square, correction))
    tangent = r + tail
    is_odd = (angle.quadrant & 1).equals(1)
    return _flip(is_odd.select(-1.0 / tangent, tangent), x.bits() & _SIGN)


def wave_of(quadrant: Int, rest: Float) -> Float:
    """Return sin(quadrant * pi / 2 + rest) for |rest| <= pi / 4; -0 stays -0 in quadrant 0."""
    square = rest * rest
    # Adding zero leaves no -0, which would take the sign of a zero.
    tail = fma(square, polynomial(square, _SIN), square.build.float(0.0))
    sine = fma(tail, rest, rest)
    cosine = fma(square, fma(square, polynomial(square, _COS), -0.5), 1.0)
    magnitude = (quadrant & 1).equals(1).select(cosine, sine)
    return _flip(magnitude, (quadrant & 2) << 30)


def _wave(angle: Angle, quadrant: Int, sign: Int | None) -> Float:
    """Return sin(quadrant * pi / 2 + remainder), negated where `sign` has the sign bit."""
    r, correction = angle.remainder, angle.correction
    square = r * r
    sine = r + fma(r * square, polynomial(square, _SIN), correction)
    tail = fma(square * square, polynomial(square, _COS), -(r * correction))
    cosine = fma(square, -0.5, 1.0) + tail
    magnitude = (quadrant & 1).equals(1).select(cosine, sine)
    flip = (quadrant & 2) << 30
    return _flip(magnitude, flip if sign is None else flip ^ sign)


def _flip(x: Float, sign: Int) -> Float:
    return (x.bits() ^ sign).as_float()
