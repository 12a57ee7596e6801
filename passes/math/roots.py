# SPDX-License-Identifier: MIT OR Apache-2.0
"""rsqrt of an f32, by correctly rounded square root and division."""

from __future__ import annotations

from xyntra.passes.math.values import Float

__all__ = ["rsqrt"]


def rsqrt(x: Float) -> Float:
    """Return 1 / sqrt(x): inf at 0, -inf at -0, 0 at inf, NaN below 0."""
    return 1.0 / x.sqrt()
