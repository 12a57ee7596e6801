# SPDX-License-Identifier: MIT OR Apache-2.0
"""rsqrt and cbrt of an f32."""

from __future__ import annotations

import math

from xyntra.passes.math.values import Float, fma

__all__ = ["cbrt", "cube_root", "rsqrt"]

# 4/3 of the bias in an encoding, so that subtracting a third of the encoding of x gives that of a
# number within 4 % of x**(-1/3); lowered from 0x54AAAAAA to centre the error.
_INVERSE_CBRT = 0x54A2FA8C
_LEAST_NORMAL = 2.0**-126


def cbrt(x: Float) -> Float:
    """Return the real cube root, negative for negative x; -0 stays -0."""
    return cube_root(x, _INVERSE_CBRT, _LEAST_NORMAL, raised=24, steps=2)


def cube_root(x: Float, guess: int, least_normal: float, *, raised: int, steps: int) -> Float:
    """Return the real cube root.

    A guess for x**(-1/3) from the encoding of x, steps of third order to the accuracy of the type,
    and one step of Newton's on the cube root, whose correction is too small to add an error of its
    own.

    Args:
        x: of any size.
        guess: less a third of the encoding of x, it is that of a number near x**(-1/3).
        least_normal: of the type.
        raised: by how many bits denormal numbers are made larger, a multiple of three.
        steps: of third order.
    """
    magnitude = abs(x)
    is_tiny = magnitude < least_normal
    normal = is_tiny.select(magnitude * 2.0**raised, magnitude)
    inverse = (x.build.int(guess) - normal.bits().divided_by(3)).as_float()
    for _ in range(steps):
        error = fma(normal * inverse, -(inverse * inverse), 1.0)
        inverse = fma(inverse * error, fma(error, 2.0 / 9.0, 1.0 / 3.0), inverse)
    square = inverse * inverse
    root = normal * square
    residual = fma(root * root, -root, normal)
    root = fma(residual * square, 1.0 / 3.0, root)
    result = is_tiny.select(root * 2.0 ** -(raised // 3), root)
    is_regular = (magnitude > 0.0) & (magnitude < math.inf)
    return is_regular.select(result, magnitude).with_sign_of(x)


def rsqrt(x: Float) -> Float:
    """Return 1 / sqrt(x): inf at 0, -inf at -0, 0 at inf, NaN below 0."""
    return 1.0 / x.sqrt()
