# SPDX-License-Identifier: MIT OR Apache-2.0
"""log, log2, log10, log1p and the inverse hyperbolic functions of an f64.

x = 2**n (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f) = f - (h - s (h + R)) with
s = f / (2 + f), h = f**2 / 2 and R = 2 s**2 (1/3 + s**2 / 5 + …), in which only small terms round.
"""

from __future__ import annotations

import math

from xyntra.passes.math.double.exponent import power_of_two, split_near_one, split_positive
from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["acosh", "asinh", "atanh", "log", "log1p", "log2", "log10"]

# The high parts end in 12 zero bits: their products with |n| < 2**11 are exact.
_LN2_HIGH, _LN2_LOW = 0.693147180559663, 2.8235290563031577e-13
_LOG10_2_HIGH, _LOG10_2_LOW = 0.30102999566383914, 1.42050232272661e-13
_LOG2_E_HIGH, _LOG2_E_LOW = 1.4426950408889634, 2.0355273740931033e-17
_LOG10_E_HIGH, _LOG10_E_LOW = 0.4342944819032518, 1.098319650216765e-17
# s**2 <= 0.0295: the first term left out is below 2**-58 of the first.
_SERIES = tuple(2.0 / (2 * k + 3) for k in range(11))
_NO_LONGER_ONE = 2.0**53
_LARGE = 2.0**28


def log(x: Float) -> Float:
    """Return the natural logarithm: -inf at 0, NaN below, exact for denormal inputs."""
    return _with_special_values(x, _log_of_parts(*split_positive(x)))


def log2(x: Float) -> Float:
    """Return the binary logarithm; exact for powers of two."""
    n, f = split_positive(x)
    return _with_special_values(x, _scaled(f, _LOG2_E_HIGH, _LOG2_E_LOW) + n)


def log10(x: Float) -> Float:
    """Return the decimal logarithm."""
    n, f = split_positive(x)
    small = _scaled(f, _LOG10_E_HIGH, _LOG10_E_LOW)
    return _with_special_values(x, fma(n, _LOG10_2_HIGH, fma(n, _LOG10_2_LOW, small)))


def log1p(x: Float) -> Float:
    """Return log(1 + x) with small relative error near 0; -0 stays -0, -inf at -1, NaN below."""
    total = x + 1.0
    n, mantissa = split_near_one(total)
    # 1 + x = 2**n (1 + f), and both terms of f = x 2**-n + (2**-n - 1) are exact for n <= 53, so
    # that f is rounded once, unlike `total`. For large x the one no longer matters.
    inverse = power_of_two(n.build.int(0) - n)
    f = (x > _NO_LONGER_ONE).select(mantissa - 1.0, fma(x, inverse, inverse - 1.0))
    result = _log_of_parts(n.to_float(), f).with_sign_of(x)
    return _with_special_values(total, result)


def asinh(x: Float) -> Float:
    """Return the inverse hyperbolic sine: odd, -0 stays -0."""
    magnitude = abs(x)
    square = magnitude * magnitude
    near = log1p(magnitude + square / ((square + 1.0).sqrt() + 1.0))
    far = log(magnitude) + math.log(2.0)
    return (magnitude > _LARGE).select(far, near).with_sign_of(x)


def acosh(x: Float) -> Float:
    """Return the inverse hyperbolic cosine: NaN below 1."""
    above = x - 1.0
    near = log1p(above + (fma(above, above, above + above)).sqrt())
    far = log(x) + math.log(2.0)
    result = (x > _LARGE).select(far, near)
    return (x < 1.0).select(math.nan, result)


def atanh(x: Float) -> Float:
    """Return the inverse hyperbolic tangent: odd, infinite at -1 and 1, NaN beyond."""
    magnitude = abs(x)
    result = log1p((magnitude + magnitude) / (1.0 - magnitude)) * 0.5
    undefined = magnitude > 1.0
    return undefined.select(math.nan, result.with_sign_of(x))


def _log_of_parts(n: Float, f: Float) -> Float:
    """Return log(2**n (1 + f))."""
    half_square, rest = _log1p_parts(f)
    low = fma(n, _LN2_LOW, rest)
    return fma(n, _LN2_HIGH, f - (half_square - low))


def _scaled(f: Float, high: float, low: float) -> Float:
    """Return log(1 + f) * (high + low)."""
    half_square, rest = _log1p_parts(f)
    tail = rest - half_square
    return fma(f, high, fma(f, low, tail * high))


def _log1p_parts(f: Float) -> tuple[Float, Float]:
    """Return (h, c) with log(1 + f) = f - h + c."""
    s = f / (f + 2.0)
    square = s * s
    half_square = f * 0.5 * f
    return half_square, s * fma(square, polynomial(square, _SERIES), half_square)


def _with_special_values(x: Float, result: Float) -> Float:
    """Give the logarithm of `x` its values outside 0 < x < inf; `result` holds inside."""
    finite = (x < math.inf).select(result, x)
    return (x < 0.0).select(math.nan, x.equals(0.0).select(-math.inf, finite))
