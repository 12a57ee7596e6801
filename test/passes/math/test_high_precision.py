# SPDX-License-Identifier: MIT OR Apache-2.0
"""The stated errors hold against mpmath, which shares no code with what is tested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from math_kernels import UNARY, Array, Compiled

from xyntra.passes.math.table import MAX_ULP

# Enough for the sine of 2**127 and for the inverse hyperbolic sine of the least denormal.
_PRECISION = 400

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
}

# The f32 that come nearest to multiples of pi / 2, from the continued fractions of 2**n / pi.
_NEAR_QUARTER_TURNS = (
    16367173 * 2.0**72,
    16367173 * 2.0**73,
    10741887 * 2.0**11,
    10057457 * 2.0**62,
)

# Where methods change, where results overflow, underflow or become exact.
BOUNDARIES: dict[str, tuple[float, ...]] = {
    "acos": (0.5, -0.5, 1.0, -1.0),
    "acosh": (1.0, 2.0, 2.0**25, 3.4028235e38),
    "asin": (0.5, -0.5, 1.0, -1.0),
    "asinh": (1.8446743e19, 2.0**25, -(2.0**25)),
    "atan": (1.0, -1.0),
    "atanh": (0.5, 0.99999994, -0.99999994),
    "cos": (12867.0, 1.5707964, *_NEAR_QUARTER_TURNS),
    "cosh": (89.41599, -89.41599, 88.72284),
    "erf": (0.9277, 3.925, -0.9277, -3.925),
    "erfc": (0.5, -0.5, 9.19455, 10.054, 10.06, 10.1, -3.9),
    "exp": (88.72283, -87.33655, -103.97207, -103.27893),
    "exp2": (127.99999, -126.0, -149.0, -149.99998),
    "expm1": (88.72283, 0.3465736, -0.3465736, -17.32868, -18.0),
    "log": (1.0, 1.1754944e-38, 1e-45, 1.4142135, 0.70710677, 3.4028235e38),
    "log10": (1.0, 1.1754944e-38, 1e-45, 10.0, 1e10, 1.4142135, 0.70710677),
    "log1p": (-0.99999994, 0.41421354, -0.29289323, 1.6777216e7, 3.4028235e38),
    "log2": (1.0, 1.1754944e-38, 1e-45, 2.0, 1.4142135, 0.70710677),
    "sin": (12867.0, 3.1415927, 355.0, 3.4028235e38, *_NEAR_QUARTER_TURNS),
    "sinh": (1.0, -1.0, 89.41599, -89.41599),
    "tan": (12867.0, 1.5707964, 11.0, 3.4028235e38, *_NEAR_QUARTER_TURNS),
    "tanh": (0.3465736, 9.010913, 9.1, -9.1),
}


def samples(name: str) -> Array:
    """Return values of every exponent, the least denormal upwards, and around the boundaries."""
    random = np.random.default_rng(5)
    mantissas = random.integers(0, 2**23, (255, 2, 2), dtype=np.uint32)
    exponents = np.arange(255, dtype=np.uint32)[:, None, None] << np.uint32(23)
    signs = np.array([0, 2**31], np.uint32)
    scattered = (exponents | mantissas | signs).ravel().view(np.float32)
    usual = random.uniform(-12, 12, 500).astype(np.float32)
    return np.concatenate([scattered, usual, np.array(list(_around(name)), np.float32)])


def _around(name: str) -> Iterator[float]:
    for boundary in BOUNDARIES.get(name, ()):
        bits = np.float32(boundary).view(np.int32)
        yield from np.arange(bits - 8, bits + 8, dtype=np.int32).view(np.float32)


def exact_error(function: Callable[[Any], Any], x: float, result: float) -> float:
    """Return the error of `result` in ULP.

    It is 0 for an infinity at a pole, and for NaN where the function has no real value.
    """
    exact = function(mpmath.mpf(x))
    if mpmath.isinf(exact):
        return 0.0 if result == float(exact) else np.inf
    if not isinstance(exact, mpmath.mpf) or mpmath.isnan(exact):
        return 0.0 if np.isnan(result) else np.inf
    if np.isnan(result):
        return np.inf
    _, exponent = mpmath.frexp(exact)
    unit = mpmath.ldexp(1, min(max(int(exponent) - 24, -149), 104))
    limit = mpmath.mpf(2) ** 128
    clamped = min(max(exact, -limit), limit)
    value = min(max(mpmath.mpf(result), -limit), limit)
    return float(abs(value - clamped) / unit)


@pytest.mark.parametrize("name", UNARY)
def test_within_the_stated_error(functions: Compiled, name: str) -> None:
    x = samples(name)
    x = x[np.isfinite(x) & (x != 0)]
    results = functions(name, x)
    function = FUNCTIONS.get(name) or getattr(mpmath, name)
    bound = MAX_ULP[f"math.{name}"]
    with mpmath.workprec(_PRECISION):
        for value, result in zip(x.tolist(), results.tolist(), strict=True):
            error = exact_error(function, value, result)
            assert error <= bound, f"{name}({value!r}) = {result!r} is {error:.3f} ULP off"
