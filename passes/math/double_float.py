# SPDX-License-Identifier: MIT OR Apache-2.0
"""Unevaluated sums of two f32, for intermediate results of about 46 bits.

The algorithms are Dekker's (*A Floating-Point Technique for Extending the Available Precision*,
Numer. Math. 18, 1971), with the error of a product taken by a fused multiply-add.

They need `math.fma` to round once. Products that enter sums are made by `fma` with 0, so that
contraction cannot replace them by something that differs from the value whose error was taken;
reassociation would remove the low parts altogether.
"""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.passes.math.values import Float, fma

__all__ = ["DoubleFloat", "fast_two_sum", "two_product"]


@dataclass(frozen=True)
class DoubleFloat:
    """The number `high + low`, where |low| is at most about an ulp of `high`."""

    high: Float
    low: Float

    def __mul__(self, other: DoubleFloat) -> DoubleFloat:
        product = two_product(self.high, other.high)
        cross = fma(self.high, other.low, fma(self.low, other.high, product.low))
        return DoubleFloat(product.high, cross)

    def plus_smaller(self, other: DoubleFloat) -> DoubleFloat:
        """Return the sum, where |self| >= |other| or self is 0."""
        total = fast_two_sum(self.high, other.high)
        return fast_two_sum(total.high, total.low + (self.low + other.low))


def two_product(a: Float, b: Float) -> DoubleFloat:
    """Return a * b without error, barring underflow."""
    product = fma(a, b, 0.0)
    return DoubleFloat(product, fma(a, b, -product))


def fast_two_sum(a: Float, b: Float) -> DoubleFloat:
    """Return a + b without error, where |a| >= |b| or a is 0."""
    total = a + b
    return DoubleFloat(total, (a - total) + b)
