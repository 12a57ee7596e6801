# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fits the polynomials of `passes/math`; the way to make the coefficients of a new one.

    fit(mpmath.exp, (-0.3467, 0.3467), degree=6, given={0: 1.0, 1: 1.0})

gives the coefficients of `exp.EXP`, but for the last digits, which depend on the points taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Function = Callable[[Any], Any]
# The weight of an error at x, where the function's value is f, both arrays.
Weight = Callable[[Array, Array], Array]

_POINTS = 400
_DIGITS = 40


def relative(_: Array, f: Array) -> Array:
    """Weigh errors by the value that they are errors of."""
    return 1.0 / np.abs(f)


def sample(function: Function, interval: tuple[float, float]) -> tuple[Array, Array]:
    """Return Chebyshev points of the interval and the function there, computed in 40 digits."""
    low, high = interval
    angles = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    x = (low + high) / 2 + (high - low) / 2 * np.cos(angles)
    with mpmath.workdps(_DIGITS):
        return x, np.array([float(function(mpmath.mpf(point))) for point in x])


def fit(
    function: Function,
    interval: tuple[float, float],
    degree: int,
    *,
    weight: Weight = relative,
    given: Mapping[int, float] | None = None,
) -> list[float]:
    """Return f32 coefficients, constant first, that nearly minimise the largest weighted error.

    Coefficients are rounded one at a time from the constant up, and the ones that are left are
    fitted again to what remains. `given` fixes coefficients by their power.
    """
    x, f = sample(function, interval)
    weights = weight(x, f)
    found = dict(given or {})
    for power in range(degree + 1):
        if power not in found:
            best = best_fit(x, f, weights, degree, found)
            found[power] = float(np.float32(best[power]))
    return [found[power] for power in range(degree + 1)]


def best_fit(
    x: Array, f: Array, weights: Array, degree: int, given: Mapping[int, float]
) -> dict[int, float]:
    """Return the unrounded coefficients that `given` leaves free, by Lawson's algorithm.

    C. L. Lawson, *Contributions to the Theory of Linear Least Maximum Approximation*, 1961: least
    squares again and again, each point's weight multiplied by its error.
    """
    free = [power for power in range(degree + 1) if power not in given]
    rest = (f - sum(value * x**power for power, value in given.items())) * weights
    columns = np.stack([x**power * weights for power in free], axis=1)
    norms = np.linalg.norm(columns, axis=0)
    emphasis = np.ones_like(x)
    best, least = np.zeros(len(free)), np.inf
    for _ in range(100):
        root = np.sqrt(emphasis)
        found, *_ = np.linalg.lstsq(columns / norms * root[:, None], rest * root, rcond=1e-17)
        error = np.abs(columns @ (found / norms) - rest)
        if error.max() < least:
            best, least = found / norms, error.max()
        emphasis *= error + 1e-3 * error.max()
        emphasis /= emphasis.sum()
    return dict(zip(free, best.tolist(), strict=True))


def largest_error(coefficients: list[float], x: Array, f: Array, weights: Array) -> float:
    """Return the largest weighted error of the polynomial at the points."""
    return float(np.max(np.abs((np.polyval(coefficients[::-1], x) - f) * weights)))
