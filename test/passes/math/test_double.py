# SPDX-License-Identifier: MIT OR Apache-2.0
"""The stated errors of functions of f64 hold, against mpmath; special values are those of numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from math_kernels import Array, Compiled, Kernel, compile_kernels

from xyntra.passes.math.double.table import EXPANSIONS_OF_F64
from xyntra.passes.math.expand_math import expand_math

UNARY = sorted(
    name.removeprefix("math.")
    for name in EXPANSIONS_OF_F64
    if name not in ("math.atan2", "math.powf", "math.sincos")
)
MOST_OF_EXP = 800.0
"""Beyond, functions that grow or vanish like exp are infinite or constant."""
BOUNDED = ("cosh", "erf", "erfc", "exp", "exp2", "expm1", "sinh", "tanh")
PRECISION = 1400
"""Bits that keep 1 + x exact, and the remainder of every angle."""


def _odd_root(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


EXACT: dict[str, Callable[..., Any]] = {
    "cbrt": _odd_root,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
}
NUMPY: dict[str, Callable[..., Array]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "erf": np.vectorize(math.erf),
    "erfc": np.vectorize(math.erfc),
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
}
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308])


@pytest.fixture(scope="module")
def functions() -> Compiled:
    kernels = {name: Kernel(f"%y = math.{name} %x0 : f64", ("f64",), "f64") for name in UNARY}
    for name in ("atan2", "powf"):
        kernels[name] = Kernel(f"%y = math.{name} %x0, %x1 : f64", ("f64", "f64"), "f64")
    kernels["fpowi"] = Kernel("%y = math.fpowi %x0, %x1 : f64, i32", ("f64", "i32"), "f64")
    kernels["sincos"] = Kernel("%z, %y = math.sincos %x0 : f64", ("f64",), "f64")
    return compile_kernels(kernels, partial(expand_math, f64=True))


def arguments(name: str, seed: int, count: int = 40) -> Array:
    """Return f64 of all magnitudes, and of those at which functions do something."""
    draw = np.random.default_rng(seed)
    anything = draw.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    signs = draw.choice([-1.0, 1.0], count)
    parts = [
        anything,
        draw.uniform(-1, 1, 3 * count),
        draw.normal(size=2 * count) * 30,
        draw.normal(size=count) * 700,
        signs * 10.0 ** draw.uniform(-20, 20, count),
        1 + signs * 10.0 ** draw.uniform(-16, 0, count),
    ]
    values = np.concatenate(parts)
    values = values[np.isfinite(values) & (values != 0)]
    return values[np.abs(values) < MOST_OF_EXP] if name in BOUNDED else values


def expected(name: str, *operands: Array) -> Array:
    with np.errstate(all="ignore"):
        return NUMPY.get(name, getattr(np, name, None))(*operands)


def ulps(found: float, exact: Any) -> float:
    """Return |found - exact| in units in the last place of the exact result."""
    exponent = mpmath.frexp(exact)[1] if exact else -1100
    unit = mpmath.ldexp(1, max(exponent - 53, -1074))
    return float(abs(mpmath.mpf(float(found)) - exact) / unit)


def check(name: str, bound: float, found: Array, near: Array, *operands: Array) -> None:
    """Fail where a result is further from the exact one than `bound`; `near` is about that."""
    function = EXACT.get(name, getattr(mpmath, name, None))
    with mpmath.workprec(PRECISION):
        for result, other, *values in zip(found, near, *operands, strict=True):
            if not np.isfinite(other):
                np.testing.assert_equal(result, other)
                continue
            exact = function(*(mpmath.mpf(float(value)) for value in values))
            assert ulps(result, exact) <= bound, (name, values, result, other)


@pytest.mark.parametrize("name", UNARY)
def test_within_the_stated_error(functions: Compiled, name: str) -> None:
    x = arguments(name, seed=len(name))
    bound = EXPANSIONS_OF_F64[f"math.{name}"].max_ulp
    check(name, bound, functions(name, x), expected(name, x), x)


@pytest.mark.parametrize("name", UNARY)
def test_special_values(functions: Compiled, name: str) -> None:
    found, near = functions(name, SPECIAL), expected(name, SPECIAL)
    exact = ~np.isfinite(near) | (near == 0)
    np.testing.assert_array_equal(found[exact], near[exact])
    np.testing.assert_array_equal(np.signbit(found[near == 0]), np.signbit(near[near == 0]))
    np.testing.assert_allclose(found, near, rtol=1e-15)


def test_remainders_of_large_angles(functions: Compiled) -> None:
    # The f64 that is nearest to a multiple of pi / 2, and others of every exponent.
    x = np.concatenate([[6381956970095103.0 * 2.0**797], 1.37 * 2.0 ** np.arange(15, 1023, 7)])
    for name in ("sin", "cos", "tan"):
        check(
            name,
            EXPANSIONS_OF_F64[f"math.{name}"].max_ulp,
            functions(name, x),
            expected(name, x),
            x,
        )
    np.testing.assert_array_equal(functions("sincos", x), functions("cos", x))


def test_powers(functions: Compiled) -> None:
    draw = np.random.default_rng(3)
    x = np.concatenate([10.0 ** draw.uniform(-300, 300, 150), draw.uniform(0.9, 1.1, 150)])
    y = np.concatenate([draw.uniform(-1.2, 1.2, 150), draw.uniform(-3000, 3000, 150)])
    check("power", 2.0, functions("powf", x, y), expected("power", x, y), x, y)
    bases, exponents = (
        each.ravel() for each in np.meshgrid(SPECIAL, [*SPECIAL, 2.0, 3.0, -3.0, 0.5])
    )
    near = expected("power", bases, exponents)
    np.testing.assert_allclose(functions("powf", bases, exponents), near, rtol=1e-15)
    whole = draw.integers(-40, 40, 300)
    signed = x * draw.choice([-1.0, 1.0], 300)
    near = expected("power", signed, whole.astype(np.float64))
    np.testing.assert_allclose(functions("fpowi", signed, whole), near, rtol=1e-15)


def test_angles_of_points(functions: Compiled) -> None:
    draw = np.random.default_rng(4)
    y, x = (draw.normal(size=400) * 10.0 ** draw.uniform(-9, 9, 400) for _ in range(2))
    bound = EXPANSIONS_OF_F64["math.atan2"].max_ulp
    check("atan2", bound, functions("atan2", y, x), np.arctan2(y, x), y, x)
    above, along = (each.ravel() for each in np.meshgrid(SPECIAL, SPECIAL))
    near = np.arctan2(above, along)
    found = functions("atan2", above, along)
    np.testing.assert_allclose(found, near, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(found)[near == near], np.signbit(near)[near == near])
