# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reduction of an angle to a quadrant and a remainder, accurate for every finite f32.

Up to 12867 the method is Cody and Waite's: pi / 2 is split into three parts whose products with
the number of quadrants are exact in f32, and a remainder. Above, it is Payne and Hanek's (*Radian
Reduction for Trigonometric Functions*, SIGNUM Newsletter 18, 1983): the 24-bit significand times
the 96 bits of 2 / pi that its exponent makes relevant, modulo 4, in integers. Both are computed and
one is selected, so that the code has no branches and no table look-up.

Contraction is harmless; reassociation would merge the parts of pi / 2 and remove the corrections.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.passes.math.values import Float, Int, fma

__all__ = ["Angle", "nearer_or_farther", "reduce_angle", "reduce_large_angle", "window"]

# For |n| < 2**13 quadrants; the products of the first three parts with n are exact.
_CODY_WAITE_BOUND = 12867.0
_HALF_PI_PARTS = (1.5703125, 4.8351287841796875e-04, 3.1385570764541626e-07, 6.07710051e-11)

_HALF_PI_HIGH, _HALF_PI_LOW = 1.57079637, -4.37113883e-08
# 2 / pi in words of 32 bits after the binary point, behind one word of zeros.
_TWO_OVER_PI = (
    0x00000000,
    0xA2F9836E,
    0x4E441529,
    0xFC2757D1,
    0xF534DDC0,
    0xDB629599,
    0x3C439041,
    0xFE5163AB,
)
_SELECTED = 4
"""Words from which three are shifted out."""


@dataclass(frozen=True)
class Angle:
    """|x| = quadrant * pi / 2 + remainder + correction.

    `quadrant` is right modulo 4. |remainder| <= pi / 4 up to rounding; it is NaN where x is
    infinite or NaN. `correction` is at most half a unit in the last place of `remainder`.
    """

    quadrant: Int
    remainder: Float
    correction: Float


def reduce_angle(x: Float) -> Angle:
    """Return the quadrant and the remainder of |x|."""
    magnitude = abs(x)
    near, far = _cody_waite(magnitude), _payne_hanek(magnitude)
    return nearer_or_farther(magnitude, _CODY_WAITE_BOUND, near, far)


def nearer_or_farther(magnitude: Float, bound: float, near: Angle, far: Angle) -> Angle:
    """Return `near` below a bound and `far` elsewhere, with NaN for infinities and NaN."""
    is_near = magnitude < bound
    remainder = is_near.select(near.remainder, far.remainder)
    return Angle(
        is_near.select_int(near.quadrant, far.quadrant),
        (magnitude < math.inf).select(remainder, math.nan),
        is_near.select(near.correction, far.correction),
    )


def reduce_large_angle(magnitude: Float) -> Angle:
    """Return the same of a number that is large (12867 and more), infinite or NaN."""
    far = _payne_hanek(magnitude)
    remainder = (magnitude < math.inf).select(far.remainder, math.nan)
    return Angle(far.quadrant, remainder, far.correction)


def _cody_waite(magnitude: Float) -> Angle:
    bounded = magnitude.number_at_most(_CODY_WAITE_BOUND)
    n = (bounded * (2.0 / math.pi)).round_even()
    first, second, third, fourth = _HALF_PI_PARTS
    exact = fma(n, -second, fma(n, -first, bounded))
    rounded = fma(n, -third, exact)
    lost = fma(n, -fourth, fma(n, -third, exact - rounded))
    return Angle(n.to_int(), *_sum(rounded, lost))


def _payne_hanek(magnitude: Float) -> Angle:
    bits = magnitude.bits()
    significand = (bits & 0x7FFFFF) | 0x800000
    # Leading bits of 2 / pi whose products with the significand are multiples of four quadrants:
    # the exponent less 25, more by the word of zeros.
    dropped = (bits >> 23) - (127 + 25 - 32)
    two_over_pi = window(dropped, _TWO_OVER_PI, 32)
    _, tail = significand.times_unsigned(two_over_pi[2])
    middle, carry = significand.times_unsigned(two_over_pi[1])
    fraction_low = middle + tail
    overflow = fraction_low.below_unsigned(tail).select_int(1, 0)
    fraction = significand * two_over_pi[0] + carry + overflow
    # `fraction` counts quadrants in units of 2**-30; take the nearest whole number off.
    quadrant = (fraction + (1 << 29)) >> 30
    return Angle(quadrant, *_times_half_pi(fraction - (quadrant << 30), fraction_low))


def window(dropped: Int, table: Sequence[int], bits: int) -> tuple[Int, Int, Int]:
    """Return the three words of a number that follow its first `dropped` bits.

    Args:
        dropped: at most `bits` times the words that the table has beyond four, wherever the result
            is used.
        table: the number's words, the first one first.
        bits: of a word, a power of two.
    """
    words = _select_words(dropped >> (bits.bit_length() - 1), table)
    shift = dropped & (bits - 1)
    # A shift by all bits is undefined, so the right shift is done in two steps.
    rest = shift.build.int(bits - 1) - shift

    def joined(first: Int, second: Int) -> Int:
        low = second.shift_right_logical(1).shift_right_logical(rest)
        return (first << shift) | low

    a, b, c, d = words
    return joined(a, b), joined(b, c), joined(c, d)


def _select_words(index: Int, table: Sequence[int]) -> list[Int]:
    """Return the four words from `index`."""
    words = [index.build.int(word) for word in table[:_SELECTED]]
    for start in range(1, len(table) - _SELECTED + 1):
        reached = index > start - 1
        following = table[start : start + _SELECTED]
        words = [reached.select_int(new, old) for new, old in zip(following, words, strict=True)]
    return words


def _times_half_pi(fraction: Int, fraction_low: Int) -> tuple[Float, Float]:
    """Return (fraction * 2**32 + fraction_low) * 2**-62 * pi / 2 as a value and a correction."""
    # The upper 24 bits convert exactly; so does everything where cancellation has cleared them.
    high = (fraction & ~63).to_float() * 2.0**-30
    rest = ((fraction & 63) << 25) | fraction_low.shift_right_logical(7)
    low = rest.to_float() * 2.0**-55
    # Not a multiplication: contracted into the sum below, it would spoil the correction.
    product = fma(high, _HALF_PI_HIGH, 0.0)
    lost = fma(high, _HALF_PI_HIGH, -product)
    return _sum(product, fma(low, _HALF_PI_HIGH, fma(high, _HALF_PI_LOW, lost)))


def _sum(large: Float, small: Float) -> tuple[Float, Float]:
    """Return the rounded sum and its rounding error, for |large| >= |small|."""
    total = large + small
    return total, (large - total) + small
