# SPDX-License-Identifier: MIT OR Apache-2.0
"""sinh and cosh of an f32.

Both come from e = exp(|x|) / 2, halved in the exponent so that it is finite up to the last finite
result: cosh(x) = e + 1 / (4 e), sinh(x) = e - 1 / (4 e) where that does not cancel, and a minimax
polynomial of ours in x**2 below 1.

Contraction is harmless; reassociation breaks the reduction by ln 2 (see `exp`).
"""

from __future__ import annotations

from xyntra.passes.math.exp import EXP, reduce_by_ln2
from xyntra.passes.math.exponent import scale
from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["cosh", "sinh"]

# (sinh(x) - x) / x**3 on |x| <= 1, error below 2^-31 in relation to sinh.
_SINH = (0.166666672, 0.00833331048, 0.000198428956, 2.78221319e-06)

# exp(x) / 2 overflows at 89.416, where n is 129.
_HIGHEST_EXPONENT = 129.0


def sinh(x: Float) -> Float:
    """Return the hyperbolic sine; -0 stays -0, infinite at the infinities."""
    magnitude = abs(x)
    square = magnitude * magnitude
    small = fma(magnitude * square, polynomial(square, _SINH), magnitude)
    half = _half_exp(magnitude)
    large = half - 0.25 / half
    return (magnitude < 1.0).select(small, large).with_sign_of(x)


def cosh(x: Float) -> Float:
    """Return the hyperbolic cosine; +inf at the infinities."""
    half = _half_exp(abs(x))
    return half + 0.25 / half


def _half_exp(magnitude: Float) -> Float:
    n, r = reduce_by_ln2(magnitude, _HIGHEST_EXPONENT)
    return scale(polynomial(r, EXP), n - 1)
