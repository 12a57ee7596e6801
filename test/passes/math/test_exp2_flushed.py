# SPDX-License-Identifier: MIT OR Apache-2.0
"""The exponentials of a softmax: their error over all arguments, and special ones."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from math_kernels import Array, Kernel, compile_kernels, ulp_error

from xyntra.dialects.mlir import ir
from xyntra.passes.math.exp import exp2_flushed
from xyntra.passes.math.values import Builder, Float

Power = Callable[[Array], Array]
LOWEST = -126.0  # of which the power is no denormal number


def _flush(module: ir.Operation) -> None:
    """Put `exp2_flushed` in the place of math.exp2."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "math.exp2":
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    for op in found:
        with op.context, op.location, ir.InsertionPoint(op):
            value = exp2_flushed(Float(Builder(op.result.type), op.operands[0])).value
        op.result.replace_all_uses_with(value)
        op.erase()


@pytest.fixture(scope="module")
def power() -> Power:
    """The function on arrays."""
    compiled = compile_kernels({"f": Kernel("%y = math.exp2 %x0 : f32", ("f32",), "f32")}, _flush)
    return lambda x: compiled("f", x)


def test_error_over_all_arguments(power: Power) -> None:
    """1.2 ULP over every 97th f32 from -126 to 127."""
    below = np.arange(0xB0000000, np.float32(LOWEST).view("u4"), 97)
    above = np.arange(0x30000000, np.float32(127.0).view("u4"), 97)
    x = np.concatenate([below, above]).astype("u4").view("f4")
    error = ulp_error(power(x), np.exp2(x.astype("f8")))
    assert error.max() < 1.2


def test_against_high_precision(power: Power) -> None:
    """mpmath at random arguments, so that the reference itself is not what is wrong."""
    x = np.random.default_rng(1).uniform(LOWEST, 8, 500).astype("f4")
    exact: Array = np.array([float(mpmath.power(2, mpmath.mpf(float(v)))) for v in x])
    assert ulp_error(power(x), exact).max() < 1.2


def test_small_results_are_zero_and_none_is_negative(power: Power) -> None:
    low = np.array([-126.6, -127, -130, -150, -1e4, -3.4e38, -np.inf], "f4")
    np.testing.assert_array_equal(power(low), 0.0)
    near = np.linspace(-127.5, -126, 999).astype("f4")
    result = power(near)
    assert (result >= 0).all()
    np.testing.assert_allclose(result, np.exp2(near.astype("f8")), atol=2.0**-126)


def test_special_values(power: Power) -> None:
    nan = np.array([0x7FC00000, 0x7F800001, 0xFFC01234, 0x7FFFFFFF], "u4").view("f4")
    assert np.isnan(power(nan)).all()
    whole = np.arange(-126, 128).astype("f4")
    np.testing.assert_array_equal(power(whole), np.exp2(whole.astype("f8")).astype("f4"))


@pytest.fixture(scope="module")
def exponential() -> Power:
    """exp of what is at most 0."""
    body = "%y = math.exp %x0 {xyntra.at_most_zero} : f32"
    compiled = compile_kernels({"f": Kernel(body, ("f32",), "f32")})
    return lambda x: compiled("f", x)


def test_error_of_exp_at_most_zero(exponential: Power) -> None:
    """1 ULP over every 97th f32 from -110 to -0, through denormal results."""
    x = np.arange(0x80000000, np.float32(-110.0).view("u4"), 97).astype("u4").view("f4")
    assert ulp_error(exponential(x), np.exp(x.astype("f8"))).max() < 1.0


def test_exp_at_most_zero_against_high_precision(exponential: Power) -> None:
    x = np.random.default_rng(2).uniform(-103, 0, 500).astype("f4")
    exact: Array = np.array([float(mpmath.exp(mpmath.mpf(float(v)))) for v in x])
    assert ulp_error(exponential(x), exact).max() < 1.0


def test_special_values_of_exp_at_most_zero(exponential: Power) -> None:
    x = np.array([0.0, -0.0, -104.1, -1e30, -np.inf, np.nan], "f4")
    np.testing.assert_array_equal(exponential(x), np.array([1, 1, 0, 0, 0, np.nan], "f4"))
