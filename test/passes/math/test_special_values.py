# SPDX-License-Identifier: MIT OR Apache-2.0
"""Zeros, infinities, NaN and domain errors give exactly what IEEE 754 and C say."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from math_kernels import UNARY, Compiled, Kernel, compile_kernels

from xyntra.passes.math.table import EXPANSIONS

INF, NAN = math.inf, math.nan
HALF_PI, PI = float(np.float32(math.pi / 2)), float(np.float32(math.pi))
LEAST = 2.0**-149

# Function: (argument, result) …; the sign of a zero counts.
UNARY_VALUES: dict[str, tuple[tuple[float, float], ...]] = {
    "acos": ((1, 0), (-1, PI), (0, HALF_PI), (1.0000001, NAN), (-INF, NAN)),
    "acosh": ((1, 0), (INF, INF), (0.99999994, NAN), (-INF, NAN), (0, NAN)),
    "asin": (
        (0, 0),
        (-0.0, -0.0),
        (1, HALF_PI),
        (-1, -HALF_PI),
        (1.0000001, NAN),
        (INF, NAN),
        (LEAST, LEAST),
    ),
    "asinh": ((0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (LEAST, LEAST)),
    "atan": ((0, 0), (-0.0, -0.0), (INF, HALF_PI), (-INF, -HALF_PI), (LEAST, LEAST)),
    "atanh": (
        (0, 0),
        (-0.0, -0.0),
        (1, INF),
        (-1, -INF),
        (1.0000001, NAN),
        (INF, NAN),
        (LEAST, LEAST),
    ),
    "cbrt": ((0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (27, 3), (-8, -2)),
    "cos": ((0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN)),
    "cosh": ((0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (89.5, INF), (-1e30, INF)),
    "erf": ((0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (4, 1), (-1e30, -1)),
    "erfc": ((0, 1), (-0.0, 1), (INF, 0), (-INF, 2), (11, 0), (-1e30, 2)),
    "exp": ((0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (88.73, INF), (1e30, INF), (-104, 0)),
    "exp2": ((0, 1), (INF, INF), (-INF, 0), (128, INF), (127, 2.0**127), (-149, LEAST), (-151, 0)),
    "expm1": (
        (0, 0),
        (-0.0, -0.0),
        (INF, INF),
        (-INF, -1),
        (88.73, INF),
        (-1e30, -1),
        (LEAST, LEAST),
    ),
    "log": ((1, 0), (0, -INF), (-0.0, -INF), (INF, INF), (-LEAST, NAN), (-INF, NAN)),
    "log10": ((1, 0), (0, -INF), (-0.0, -INF), (INF, INF), (-1, NAN), (-INF, NAN)),
    "log1p": (
        (0, 0),
        (-0.0, -0.0),
        (-1, -INF),
        (INF, INF),
        (-1.0000001, NAN),
        (-INF, NAN),
        (LEAST, LEAST),
    ),
    "log2": ((1, 0), (0, -INF), (-0.0, -INF), (INF, INF), (8, 3), (LEAST, -149), (-1, NAN)),
    "rsqrt": ((0, INF), (-0.0, -INF), (INF, 0), (4, 0.5), (-1, NAN), (-INF, NAN)),
    "sin": ((0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (LEAST, LEAST)),
    "sinh": (
        (0, 0),
        (-0.0, -0.0),
        (INF, INF),
        (-INF, -INF),
        (89.5, INF),
        (-1e30, -INF),
        (LEAST, LEAST),
    ),
    "tan": ((0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (LEAST, LEAST)),
    "tanh": ((0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (10, 1), (-1e30, -1), (LEAST, LEAST)),
}

ATAN2_VALUES = (
    (0, 1, 0),
    (-0.0, 1, -0.0),
    (0, -1, PI),
    (-0.0, -1, -PI),
    (0, 0, 0),
    (0, -0.0, PI),
    (-0.0, 0, -0.0),
    (-0.0, -0.0, -PI),
    (1, 0, HALF_PI),
    (-1, -0.0, -HALF_PI),
    (INF, 1, HALF_PI),
    (-INF, -1, -HALF_PI),
    (1, INF, 0),
    (-1, INF, -0.0),
    (1, -INF, PI),
    (-1, -INF, -PI),
    (INF, NAN, NAN),
    (NAN, 0, NAN),
)

POWERS_OF_SPECIAL_BASES = (
    (NAN, 0, 1),
    (INF, -0.0, 1),
    (1, NAN, 1),
    (1, INF, 1),
    (NAN, 1.5, NAN),
    (2, NAN, NAN),
    (-1, INF, 1),
    (-1, -INF, 1),
    (0.5, INF, 0),
    (0.5, -INF, INF),
    (-2, INF, INF),
    (-2, -INF, 0),
    (0, 3.5, 0),
    (-0.0, 5, -0.0),
    (-0.0, 6, 0),
    (-0.0, 0.7, 0),
    (0, -0.7, INF),
    (-0.0, -5, -INF),
    (-0.0, -6, INF),
    (INF, 0.1, INF),
    (INF, -0.1, 0),
    (-INF, 5, -INF),
    (-INF, 6, INF),
    (-INF, 0.1, INF),
    (-INF, -5, -0.0),
    (-INF, -6, 0),
    (-2, 0.7, NAN),
    (-LEAST, 0.3, NAN),
    (-2, 7, -128),
    (-2, -7, -0.0078125),
    (-1, 16777217, 1),
    (-1, 16777215, -1),
    (2, 128, INF),
    (2, -149, LEAST),
    (2, -151, 0),
    (10, 3.4e38, INF),
    (0.1, 3.4e38, 0),
)


def same(result: float, expected: float) -> bool:
    """Tell whether both are the same f32, NaN equal to NaN, zeros by their sign."""
    first, second = np.float32(result), np.float32(expected)
    if np.isnan(second):
        return bool(np.isnan(first))
    return first.tobytes() == second.tobytes()


def cases() -> Iterator[tuple[str, float, float]]:
    for name, values in UNARY_VALUES.items():
        yield name, NAN, NAN
        for argument, expected in values:
            yield name, argument, expected


def test_every_unary_function_is_listed() -> None:
    assert sorted(UNARY_VALUES) == UNARY


@pytest.mark.parametrize(("name", "argument", "expected"), list(cases()))
def test_unary(functions: Compiled, name: str, argument: float, expected: float) -> None:
    # The same value in a whole register and in the remainder of the vectorised loop.
    results = functions(name, np.full(17, argument, np.float32))
    assert all(same(result, expected) for result in results), results


@pytest.mark.parametrize(("y", "x", "expected"), ATAN2_VALUES)
def test_atan2(functions: Compiled, y: float, x: float, expected: float) -> None:
    results = functions("atan2", np.full(17, y, np.float32), np.full(17, x, np.float32))
    assert all(same(result, expected) for result in results), results


@pytest.mark.parametrize("y", [INF, -INF])
@pytest.mark.parametrize("x", [INF, -INF])
def test_atan2_of_infinite_diagonals(functions: Compiled, y: float, x: float) -> None:
    results = functions("atan2", np.full(17, y, np.float32), np.full(17, x, np.float32))
    np.testing.assert_array_almost_equal_nulp(results, np.float32(math.atan2(y, x)), nulp=1)


@pytest.mark.parametrize(("x", "y", "expected"), POWERS_OF_SPECIAL_BASES)
def test_powf(functions: Compiled, x: float, y: float, expected: float) -> None:
    results = functions("powf", np.full(17, x, np.float32), np.full(17, y, np.float32))
    assert all(same(result, expected) for result in results), results


def test_nan_constants_are_not_poison() -> None:
    """LLVM folds a function of a constant NaN to NaN, not to whatever suits it."""
    kernels = {}
    for name in UNARY:
        body = f"%c = arith.constant 0x7FC00000 : f32\n%y = math.{name} %c : f32"
        kernels[name] = Kernel(body, ("f32",), "f32")
    compiled = compile_kernels(kernels)
    for name in UNARY:
        assert np.isnan(compiled(name, np.zeros(9, np.float32))).all(), name


def test_sincos_of_infinity(functions: Compiled) -> None:
    assert "math.sincos" in EXPANSIONS
    for name in ("sincos_sin", "sincos_cos"):
        assert np.isnan(functions(name, np.full(9, INF, np.float32))).all()
