# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reduces an angle to a quadrant and a remainder, accurate for every finite f64.

Up to a million it is Cody and Waite's method: pi / 2 is split into parts whose products with the
number of quadrants are exact. Above, it is Payne and Hanek's (SIGNUM Newsletter 18, 1983): the
53-bit significand times the 192 bits of 2 / pi that its exponent makes relevant, modulo 4, in
integers. Both are computed and one is selected.
"""

from __future__ import annotations

import math

from xyntra.passes.math.angles.reduce_angle import Angle, nearer_or_farther, window
from xyntra.passes.math.double_float import fast_two_sum, two_product
from xyntra.passes.math.values import Float, Int, fma

__all__ = ["reduce_angle"]

# For |n| < 2**20 quadrants; the products of the first three parts, of 33 bits, with n are exact.
_CODY_WAITE_BOUND = 1.6e6
_HALF_PI_PARTS = (
    1.5707963267341256,
    6.077100506303966e-11,
    2.0222662487111665e-21,
    8.4784276603689e-32,
)
_HALF_PI_HIGH, _HALF_PI_LOW = 1.5707963267948966, 6.123233995736766e-17
# 2 / pi in words of 64 bits after the binary point, behind one word of zeros.
_TWO_OVER_PI = (
    0x0000000000000000,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
)
_MANTISSA_BITS, _EXPONENT_MASK = 52, 0x7FF


def reduce_angle(x: Float) -> Angle:
    """Return the quadrant and the remainder of |x|."""
    magnitude = abs(x)
    near, far = _cody_waite(magnitude), _payne_hanek(magnitude)
    return nearer_or_farther(magnitude, _CODY_WAITE_BOUND, near, far)


def _cody_waite(magnitude: Float) -> Angle:
    bounded = magnitude.number_at_most(_CODY_WAITE_BOUND)
    n = (bounded * (2.0 / math.pi)).round_even()
    first, second, third, fourth = _HALF_PI_PARTS
    total, lost = fma(n, -first, bounded), n.build.float(0.0)
    for part in (second, third):
        total, error = _two_sum(total, fma(n, -part, 0.0))
        lost = lost + error
    pair = fast_two_sum(total, fma(n, -fourth, lost))
    return Angle(n.to_int(), pair.high, pair.low)


def _payne_hanek(magnitude: Float) -> Angle:
    bits = magnitude.bits()
    significand = (bits & ((1 << _MANTISSA_BITS) - 1)) | (1 << _MANTISSA_BITS)
    # Leading bits of 2 / pi whose products with the significand are multiples of four quadrants:
    # the exponent less 54, more by the word of zeros.
    dropped = (bits >> _MANTISSA_BITS) - (1023 + 54 - 64)
    two_over_pi = window(dropped, _TWO_OVER_PI, 64)
    _, tail = significand.times_unsigned(two_over_pi[2])
    middle, carry = significand.times_unsigned(two_over_pi[1])
    fraction_low = middle + tail
    overflow = fraction_low.below_unsigned(tail).select_int(1, 0)
    fraction = significand * two_over_pi[0] + carry + overflow
    # `fraction` counts quadrants in units of 2**-62; take the nearest whole number off.
    quadrant = (fraction + (1 << 61)) >> 62
    return Angle(quadrant, *_times_half_pi(fraction - (quadrant << 62), fraction_low))


def _times_half_pi(fraction: Int, fraction_low: Int) -> tuple[Float, Float]:
    """Return (fraction * 2**64 + fraction_low) * 2**-126 * pi / 2 as a value and a correction."""
    # The upper 53 bits convert exactly; so does everything where cancellation has cleared them.
    high = (fraction & ~0x7FF).to_float() * 2.0**-62
    rest = ((fraction & 0x7FF) << 52) | fraction_low.shift_right_logical(12)
    low = rest.to_float() * 2.0**-114
    product = two_product(high, high.build.float(_HALF_PI_HIGH))
    tail = fma(low, _HALF_PI_HIGH, fma(high, _HALF_PI_LOW, product.low))
    total, lost = _two_sum(product.high, tail)
    return total, lost


def _two_sum(a: Float, b: Float) -> tuple[Float, Float]:
    """Return a + b rounded, and its rounding error, whichever is larger (Knuth)."""
    total = a + b
    second = total - a
    return total, (a - (total - second)) + (b - second)
