# SPDX-License-Identifier: MIT OR Apache-2.0
"""asinh, acosh and atanh of an f32, by way of log1p.

asinh(x) = log1p(x + x**2 / (1 + sqrt(x**2 + 1))), acosh(x) = log1p(t + sqrt(2 t + t**2)) with
t = x - 1, and atanh(x) = log1p(2 x + 2 x**2 / (1 - x)) / 2: forms that cancel nowhere. Where the
squares would overflow, asinh(x) and acosh(x) are log(2 x) to the last bit.
"""

from __future__ import annotations

import math

from xyntra.passes.math.log import log1p, log_of_large
from xyntra.passes.math.values import Float, fma

__all__ = ["acosh", "asinh", "atanh"]

# Beyond this, log(2 x) differs from asinh(x) and acosh(x) by less than 2**-50.
_LARGE = 2.0**25


def asinh(x: Float) -> Float:
    """Return the inverse hyperbolic sine; -0 stays -0, infinite at the infinities."""
    magnitude = abs(x)
    square = magnitude * magnitude
    root = fma(magnitude, magnitude, 1.0).sqrt()
    small = log1p(magnitude + square / (root + 1.0))
    return (magnitude > _LARGE).select(log_of_large(magnitude, 1), small).with_sign_of(x)


def acosh(x: Float) -> Float:
    """Return the inverse hyperbolic cosine; NaN below 1, +inf at +inf."""
    over = x - 1.0
    small = log1p(over + fma(over, over, over + over).sqrt())
    result = (x > _LARGE).select(log_of_large(x, 1), small)
    return (x < 1.0).select(math.nan, result)


def atanh(x: Float) -> Float:
    """Return the inverse hyperbolic tangent; -0 stays -0, infinite at -1 and 1, NaN beyond."""
    magnitude = abs(x)
    double = magnitude + magnitude
    argument = fma(double, magnitude / (1.0 - magnitude), double)
    result = (log1p(argument) * 0.5).with_sign_of(x)
    return (magnitude > 1.0).select(math.nan, result)
