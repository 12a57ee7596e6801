# SPDX-License-Identifier: MIT OR Apache-2.0
"""log, log2, log10 and log1p of an f32.

Method (Cody and Waite, 1980): x = 2**n (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), a polynomial in
f, plus n times the logarithm of two. Where n is not 0 the sum cannot cancel, because |log2(1 + f)|
is at most one half; where n is 0 the result is the polynomial alone, accurate to its last bits.
The coefficients are minimax fits of ours, rounded to f32 one at a time.

Contraction is harmless; reassociation may merge constants that are split in two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xyntra.passes.math.exponent import power_of_two, split_near_one
from xyntra.passes.math.values import Bool, Float, Int, fma, polynomial

__all__ = ["log", "log1p", "log2", "log10", "log_of_large"]

# Products of the high parts with |n| < 256 are exact.
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.42860677e-06
_LOG10_2_HIGH, _LOG10_2_LOW = 0.301025390625, 4.60503907e-06
_LOG2_E_HIGH, _LOG2_E_LOW = 1.44269502, 1.925963e-08
_LOG10_E_HIGH, _LOG10_E_LOW = 0.434294492, -1.0103050e-08

# (log_b(1 + f) - f log_b(e)) / f**2 on sqrt(1/2) <= 1 + f < sqrt(2); the error, relative to
# log_b(1 + f), is below 2^-27.
LOG = (
    -0.5,
    0.333333313,
    -0.250008196,
    0.200012416,
    -0.166234046,
    0.142015755,
    -0.131596833,
    0.127623081,
    -0.0763630942,
)
_LOG2 = (
    -0.721347332,
    0.480898201,
    -0.36069867,
    0.288571417,
    -0.239567354,
    0.204486579,
    -0.191390827,
    0.187088206,
    -0.110255919,
)
_LOG10 = (
    -0.217147186,
    0.144764781,
    -0.108580887,
    0.0868687108,
    -0.0721232891,
    0.0615584292,
    -0.0575581677,
    0.0562877916,
    -0.03330281,
)

_LEAST_NORMAL = 2.0**-126


def log(x: Float) -> Float:
    """Return the natural logarithm: -inf at 0, NaN below, exact for denormal inputs."""
    n, f = _reduce(x)
    return _with_special_values(x, _log_of_parts(n, f))


def log2(x: Float) -> Float:
    """Return the binary logarithm; exact for powers of two."""
    n, f = _reduce(x)
    result = _scaled_log1p(f, (_LOG2_E_HIGH, _LOG2_E_LOW), _LOG2) + n
    return _with_special_values(x, result)


def log10(x: Float) -> Float:
    """Return the decimal logarithm."""
    n, f = _reduce(x)
    small = _scaled_log1p(f, (_LOG10_E_HIGH, _LOG10_E_LOW), _LOG10)
    result = fma(n, _LOG10_2_HIGH, fma(n, _LOG10_2_LOW, small))
    return _with_special_values(x, result)


def log1p(x: Float) -> Float:
    """Return log(1 + x) with small relative error near 0; -0 stays -0, -inf at -1, NaN below."""
    total = x + 1.0
    n, mantissa = split_near_one(total)
    # 1 + x = 2**n (1 + f), and both terms of f = x 2**-n + (2**-n - 1) are exact for n <= 24, so
    # that f is rounded once, unlike `total`. For large x the one no longer matters.
    inverse = power_of_two(_negated(n))
    f = (x > 2.0**24).select(mantissa - 1.0, fma(x, inverse, inverse - 1.0))
    result = _log_of_parts(n.to_float(), f).with_sign_of(x)
    return _with_special_values(total, result)


def log_of_large(x: Float, doublings: int) -> Float:
    """Return log(x * 2**doublings) for x >= 1, without overflow."""
    n, mantissa = split_near_one(x)
    result = _log_of_parts((n + doublings).to_float(), mantissa - 1.0)
    return (x < math.inf).select(result, x)


def _log_of_parts(n: Float, f: Float) -> Float:
    """Return log(2**n (1 + f))."""
    tail = fma(f * f, polynomial(f, LOG), n * LN2_LOW)
    return fma(n, LN2_HIGH, tail + f)


def _reduce(x: Float) -> tuple[Float, Float]:
    tiny = x < _LEAST_NORMAL
    n, mantissa = split_near_one(tiny.select(x * 2.0**23, x))
    shifted = n - tiny.select_int(23, 0)
    return shifted.to_float(), mantissa - 1.0


def _scaled_log1p(f: Float, scale: tuple[float, float], tail: Sequence[float]) -> Float:
    high, low = scale
    return fma(f, high, fma(f, low, f * f * polynomial(f, tail)))


def _negated(n: Int) -> Int:
    return n.build.int(0) - n


def _with_special_values(x: Float, result: Float) -> Float:
    """Give the logarithm of `x` its values outside 0 < x < inf; `result` holds inside."""
    finite = (x < math.inf).select(result, x)
    return _is_negative(x).select(math.nan, x.equals(0.0).select(-math.inf, finite))


def _is_negative(x: Float) -> Bool:
    return x < 0.0
