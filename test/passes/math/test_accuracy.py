# SPDX-License-Identifier: MIT OR Apache-2.0
"""The stated errors hold over all f32, against the C library's f64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from math_kernels import (
    UNARY,
    Array,
    Compiled,
    Kernel,
    assert_within,
    compile_kernels,
    expand_and_contract,
    ulp_error,
)

from xyntra.passes.math.table import MAX_ULP


def _elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    apply = np.frompyfunc(function, 1, 1)
    return lambda x: apply(x).astype(np.float64)


REFERENCE: dict[str, Callable[..., Array]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _elementwise(math.erf),
    "erfc": _elementwise(math.erfc),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}


def every(step: int) -> Array:
    """Return every `step`th f32 in the order of their encodings, NaN and infinities among them."""
    bits = np.arange(step // 3, 2**32, step, dtype=np.uint64).astype(np.uint32)
    return bits.view(np.float32)


def reference(name: str, *operands: Array) -> Array:
    """Return the f64 value of a function of f32."""
    with np.errstate(all="ignore"):
        return REFERENCE[name](*(operand.astype(np.float64) for operand in operands))


def test_every_unary_function_has_a_reference() -> None:
    assert sorted(REFERENCE) == UNARY


@pytest.mark.parametrize("name", UNARY)
def test_within_the_stated_error(functions: Compiled, name: str) -> None:
    # An odd step meets every pattern of low mantissa bits in every binade: 2**22 values. They are
    # taken in pieces that stay in the processor's cache.
    for x in np.array_split(every(1023), 64):
        error = ulp_error(functions(name, x), reference(name, x))
        assert_within(name, MAX_ULP[f"math.{name}"], error, x)


@pytest.fixture(scope="module")
def contracted() -> Compiled:
    kernels = {name: Kernel(f"%y = math.{name} %x0 : f32", ("f32",), "f32") for name in UNARY}
    kernels["powf"] = Kernel("%y = math.powf %x0, %x1 : f32", ("f32", "f32"), "f32")
    return compile_kernels(kernels, expand_and_contract)


@pytest.mark.parametrize("name", UNARY)
def test_contraction_is_harmless(contracted: Compiled, name: str) -> None:
    x = every(65537)
    error = ulp_error(contracted(name, x), reference(name, x))
    assert_within(name, MAX_ULP[f"math.{name}"], error, x)


def test_contraction_is_harmless_to_powf(contracted: Compiled) -> None:
    x, y = powers(2**18)
    error = ulp_error(contracted("powf", x, y), power(x, y))
    assert_within("powf", MAX_ULP["math.powf"], error, x, y)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sincos_is_sin_and_cos(functions: Compiled, name: str) -> None:
    x = every(65537)
    both, alone = functions(f"sincos_{name}", x), functions(name, x)
    np.testing.assert_array_equal(both.view(np.int32), alone.view(np.int32))


def test_atan2(functions: Compiled) -> None:
    random = np.random.default_rng(2)
    y, x = random.permutation(every(4099)), random.permutation(every(4099))
    near_y, near_x = random.standard_normal((2, 2**19)).astype(np.float32)
    y, x = np.concatenate([y, near_y]), np.concatenate([x, near_x])
    with np.errstate(all="ignore"):
        exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert_within("atan2", MAX_ULP["math.atan2"], ulp_error(functions("atan2", y, x), exact), y, x)


def test_powf(functions: Compiled) -> None:
    x, y = powers(2**20)
    error = ulp_error(functions("powf", x, y), power(x, y))
    assert_within("powf", MAX_ULP["math.powf"], error, x, y)


def powers(count: int) -> tuple[Array, Array]:
    """Return bases of all sizes, many near 1, with exponents that keep most powers finite."""
    random = np.random.default_rng(3)
    anything = random.integers(0, 2**32, count // 2, dtype=np.uint64).astype(np.uint32)
    near_one = 1.0 + random.standard_normal(count // 2) * np.exp(random.uniform(-16, 0, count // 2))
    x = np.concatenate([anything.view(np.float32), near_one.astype(np.float32)])
    with np.errstate(all="ignore"):
        exponents = random.uniform(-155, 130, count) / np.log2(np.abs(x.astype(np.float64)))
        y = exponents.astype(np.float32)
    whole = random.random(count) < 0.25
    y[whole] = np.rint(y[whole])
    return x, y


def power(x: Array, y: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.power(x.astype(np.float64), y.astype(np.float64))
