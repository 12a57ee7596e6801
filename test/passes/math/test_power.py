# SPDX-License-Identifier: MIT OR Apache-2.0
"""Powers with constant exponents, integer exponents and integer bases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from math_kernels import Array, Compiled, Kernel, assert_within, compile_kernels, ulp_error

from xyntra.passes.math.simple_power import SIMPLE_POWERS
from xyntra.passes.math.table import MAX_ULP

CONSTANTS = [*SIMPLE_POWERS, 5.0, -3.0, 2.5, 1.0 / 3.0]
WIDTHS = (8, 16, 32, 64)
SPECIAL = np.array(
    [0, -0.0, 1, -1, 2, -2, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 3e38, -3e38, 1.0000001],
    np.float32,
)


@pytest.fixture(scope="module")
def kernels() -> Compiled:
    found = {}
    for index, exponent in enumerate(CONSTANTS):
        constant = f"%e = arith.constant {float(np.float32(exponent))!r} : f32"
        body = f"{constant}\n%y = math.powf %x0, %e : f32"
        found[f"powf{index}"] = Kernel(body, ("f32",), "f32")
    for index, exponent in enumerate(whole_constants()):
        body = f"%e = arith.constant {exponent} : i64\n%y = math.fpowi %x0, %e : f32, i64"
        found[f"fpowi_constant{index}"] = Kernel(body, ("f32",), "f32")
    for width in WIDTHS:
        body = f"%y = math.fpowi %x0, %x1 : f32, i{width}"
        found[f"fpowi{width}"] = Kernel(body, ("f32", f"i{width}"), "f32")
        body = f"%y = math.ipowi %x0, %x1 : i{width}"
        found[f"ipowi{width}"] = Kernel(body, (f"i{width}", f"i{width}"), f"i{width}")
    for exponent in (0, 1, 6, 13):
        body = f"%e = arith.constant {exponent} : i32\n%y = math.ipowi %x0, %e : i32"
        found[f"ipowi_constant{exponent}"] = Kernel(body, ("i32",), "i32")
    body = "%y = math.fpowi %x0, %x1 : f64, i32"
    found["fpowi_f64"] = Kernel(body, ("f64", "i32"), "f64")
    return compile_kernels(found)


def whole_constants() -> list[int]:
    return [-(2**40) - 1, -3, -2, -1, 0, 1, 2, 3, 4, 5, 10, 2**40 + 1]


def bases(count: int) -> Array:
    """Return the special values, any f32, and f32 near 1."""
    random = np.random.default_rng(7)
    anything = random.integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32)
    near_one = random.choice([-1.0, 1.0], count) + random.standard_normal(count) * 2.0**-12
    return np.concatenate([SPECIAL, anything.view(np.float32), near_one.astype(np.float32)])


def exact_power(x: Array, y: float) -> Array:
    """Return pow in f64; numpy takes short cuts, not all of them exact, where y is a scalar."""
    with np.errstate(all="ignore"):
        return np.power(x.astype(np.float64), np.full(x.shape, y))


def exact_whole_power(x: Array, n: Array | int) -> Array:
    """Return x**n in f64; the sign comes from the integer, which f64 may not hold."""
    with np.errstate(all="ignore"):
        result = np.power(np.abs(x.astype(np.float64)), np.asarray(n).astype(np.float64))
    return np.where(np.signbit(x) & (np.asarray(n) % 2 == 1), -result, result)


@pytest.mark.parametrize("exponent", CONSTANTS)
def test_constant_exponents(kernels: Compiled, exponent: float) -> None:
    x = bases(2**17)
    result = kernels(f"powf{CONSTANTS.index(exponent)}", x)
    error = ulp_error(result, exact_power(x, float(np.float32(exponent))))
    assert_within(f"powf to {exponent}", MAX_ULP["math.powf"], error, x)


@pytest.mark.parametrize("exponent", whole_constants())
def test_constant_whole_exponents(kernels: Compiled, exponent: int) -> None:
    x = bases(2**17)
    result = kernels(f"fpowi_constant{whole_constants().index(exponent)}", x)
    error = ulp_error(result, exact_whole_power(x, exponent))
    assert_within(f"fpowi to {exponent}", MAX_ULP["math.fpowi"], error, x)


@pytest.mark.parametrize("width", WIDTHS)
def test_whole_exponents(kernels: Compiled, width: int) -> None:
    x = bases(2**17)
    random = np.random.default_rng(width)
    n = random.integers(-(2 ** (width - 1)), 2 ** (width - 1), x.size, np.int64)
    n >>= random.integers(0, width, x.size)
    error = ulp_error(kernels(f"fpowi{width}", x, n), exact_whole_power(x, n))
    assert_within("fpowi", MAX_ULP["math.fpowi"], error, x, n)


@pytest.mark.parametrize("base", [1.0, -1.0, 1.5, -0.0])
@pytest.mark.parametrize("exponent", [2**63 - 1, -(2**63), -(2**63) + 1, 2**32, 2**32 + 1, 0])
def test_exponents_wider_than_32_bits(kernels: Compiled, base: float, exponent: int) -> None:
    x, n = np.full(9, base, np.float32), np.full(9, exponent, np.int64)
    np.testing.assert_array_equal(kernels("fpowi64", x, n), exact_whole_power(x, n))


@pytest.mark.parametrize("width", WIDTHS)
def test_integer_powers_wrap(kernels: Compiled, width: int) -> None:
    pairs = list(itertools.product(range(-12, 13), range(-4, 127)))
    base, exponent = np.array(pairs, np.int64).T
    expected = [wrapped(integer_power(b, e), width) for b, e in pairs]
    np.testing.assert_array_equal(kernels(f"ipowi{width}", base, exponent), expected)


@pytest.mark.parametrize("exponent", [0, 1, 6, 13])
def test_integer_powers_to_a_constant(kernels: Compiled, exponent: int) -> None:
    base = np.arange(-40, 40)
    expected = [wrapped(int(b) ** exponent, 32) for b in base]
    np.testing.assert_array_equal(kernels(f"ipowi_constant{exponent}", base), expected)


def integer_power(base: int, exponent: int) -> int:
    if exponent >= 0:
        return int(base**exponent)
    if base in (1, -1):
        return int(base ** (exponent % 2))
    return 0


def wrapped(value: int, width: int) -> int:
    return (value + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)


def test_whole_powers_of_f64_reach_libm(kernels: Compiled) -> None:
    x = np.array([-2.0, 2.0, -0.0, 1.1, -math.inf, math.nan, -1.0])
    n = np.array([3, -2, -3, 5, 7, 0, 2**31 - 1])
    expected = [-8.0, 0.25, -math.inf, 1.1**5, -math.inf, 1.0, -1.0]
    np.testing.assert_allclose(kernels("fpowi_f64", x, n), expected, rtol=1e-15)
