# SPDX-License-Identifier: MIT OR Apache-2.0
"""Powers of two made and taken apart through the bits of an f32."""

from __future__ import annotations

from xyntra.passes.math.values import Float, Int

__all__ = ["power_of_two", "scale", "split_near_one"]

_MANTISSA_BITS = 23
_BIAS = 127
# Encoding of the f32 nearest to sqrt(1/2), from below.
_SQRT_HALF = 0x3F3504F3


def power_of_two(n: Int) -> Float:
    """Return 2**n for -127 < n < 128."""
    return ((n + _BIAS) << _MANTISSA_BITS).as_float()


def scale(x: Float, n: Int) -> Float:
    """Return x * 2**n, rounded once, for |n| <= 160 and 2**-40 <= |x| <= 2**40.

    Two factors cover results that overflow or are denormal, which no single factor can: the first
    product is exact, so that only the second one rounds.
    """
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)


def split_near_one(x: Float) -> tuple[Int, Float]:
    """Return (n, m) with x = m * 2**n and sqrt(1/2) <= m < sqrt(2), for a normal x > 0."""
    offset = x.bits() - _SQRT_HALF
    n = offset >> _MANTISSA_BITS
    mantissa = (offset & ((1 << _MANTISSA_BITS) - 1)) + _SQRT_HALF
    return n, mantissa.as_float()
