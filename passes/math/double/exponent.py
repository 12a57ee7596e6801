# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes powers of two, and takes them apart, through the bits of an f64."""

from __future__ import annotations

from xyntra.passes.math.values import Float, Int

__all__ = ["LEAST_NORMAL", "power_of_two", "scale", "split_near_one", "split_positive"]

LEAST_NORMAL = 2.0**-1022
_MANTISSA_BITS = 52
_BIAS = 1023
# Encoding of the f64 nearest to sqrt(1/2), from below.
_SQRT_HALF = 0x3FE6A09E667F3BCC


def power_of_two(n: Int) -> Float:
    """Return 2**n for -1023 < n < 1024."""
    return ((n + _BIAS) << _MANTISSA_BITS).as_float()


def scale(x: Float, n: Int) -> Float:
    """Return x * 2**n, rounded once, for |n| <= 1100 and 2**-400 <= |x| <= 2**400."""
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)


def split_near_one(x: Float) -> tuple[Int, Float]:
    """Return (n, m) with x = m * 2**n and sqrt(1/2) <= m < sqrt(2), for a normal x > 0."""
    offset = x.bits() - _SQRT_HALF
    n = offset >> _MANTISSA_BITS
    mantissa = (offset & ((1 << _MANTISSA_BITS) - 1)) + _SQRT_HALF
    return n, mantissa.as_float()


def split_positive(x: Float) -> tuple[Float, Float]:
    """Return (n, f) with x = 2**n (1 + f), as `split_near_one`, for a denormal x, too."""
    tiny = x < LEAST_NORMAL
    n, mantissa = split_near_one(tiny.select(x * 2.0**54, x))
    return (n - tiny.select_int(54, 0)).to_float(), mantissa - 1.0
