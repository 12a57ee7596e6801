# SPDX-License-Identifier: MIT OR Apache-2.0
"""Powers with a constant exponent that a few operations compute within 2 ULP."""

from __future__ import annotations

import math
from collections.abc import Callable

from xyntra.passes.math.values import Float

__all__ = ["SIMPLE_POWERS", "simple_power"]


def simple_power(x: Float, exponent: float) -> Float | None:
    """Return x**exponent where a cheap form is accurate for every x, else None."""
    form = SIMPLE_POWERS.get(exponent)
    return None if form is None else form(x)


def _one(x: Float) -> Float:
    return x.build.float(1.0)


def _itself(x: Float) -> Float:
    return x


def _square(x: Float) -> Float:
    return x * x


def _cube(x: Float) -> Float:
    return x * x * x


def _fourth(x: Float) -> Float:
    square = x * x
    return square * square


def _inverse(x: Float) -> Float:
    return 1.0 / x


def _inverse_square(x: Float) -> Float:
    # Inverted first: the square could overflow where its inverse is still a denormal number.
    inverse = 1.0 / x
    return inverse * inverse


def _root(x: Float) -> Float:
    # Unlike a square root, pow takes -0 to +0 and -inf to +inf.
    return x.equals(-math.inf).select(math.inf, (x + 0.0).sqrt())


def _inverse_root(x: Float) -> Float:
    return 1.0 / _root(x)


def _three_halves(x: Float) -> Float:
    return x.equals(-math.inf).select(math.inf, x * x.sqrt())


SIMPLE_POWERS: dict[float, Callable[[Float], Float]] = {
    -2.0: _inverse_square,
    -1.0: _inverse,
    -0.5: _inverse_root,
    0.0: _one,
    0.5: _root,
    1.0: _itself,
    1.5: _three_halves,
    2.0: _square,
    3.0: _cube,
    4.0: _fourth,
}
