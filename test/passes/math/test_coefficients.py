# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every table of coefficients is as good as its comment says, and nearly as good as can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
import pytest
from minimax import Array, Weight, best_fit, fit, largest_error, relative, sample

from xyntra.passes.math import erf, exp, log, power
from xyntra.passes.math.angles import hyperbolic, inverse_trig, trig

Function = Callable[[Any], Any]
_ROOT_HALF, _ROOT_TWO = 0.70710678, 1.41421356
_HALF_LN2 = 0.34657359
_QUARTER_PI = 0.78539816
# Below this the rounding of an f32 hides any gain.
_GOOD_ENOUGH = 2.0**-28


@dataclass(frozen=True)
class Table:
    """A polynomial for `function` on `interval`, whose weighted error is at most 2**log2_error."""

    coefficients: tuple[float, ...]
    function: Function
    interval: tuple[float, float]
    log2_error: float
    weight: Weight = relative
    given: dict[int, float] = field(default_factory=dict)

    def as_f32(self) -> list[float]:
        """Return the coefficients that the decimal ones stand for."""
        return np.array(self.coefficients, np.float32).astype(float).tolist()


def odd_tail(function: Function) -> Function:
    """Return (function(sqrt(t)) - sqrt(t)) / sqrt(t)**3."""

    def tail(t: Any) -> Any:
        x = mpmath.sqrt(t)
        return (function(x) - x) / x**3

    return tail


def odd_weight(t: Array, tail: Array) -> Array:
    """Weigh errors of such a tail by the function that it belongs to."""
    return t / (1.0 + t * tail)


def log_tail(scale: Function) -> Function:
    return lambda f: scale((mpmath.log1p(f) - f) / f**2)


def log_weight(f: Array, tail: Array) -> Array:
    # log(1 + f), up to a constant factor that tail(0) = -scale / 2 tells.
    scale = -2.0 * tail[abs(f).argmin()]
    return f**2 / abs(scale * f + f**2 * tail)


def _erfc_times_exp(t: Any) -> Any:
    x = 2 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mpmath.exp(x**2) * mpmath.erfc(x)


def _atanh_tail(t: Any) -> Any:
    s = mpmath.sqrt(t)
    return (mpmath.atanh(s) / s - 1 - t / 3) / t**2


_LOG = (_ROOT_HALF - 1, _ROOT_TWO - 1)
_ERF_END = erf.ERF_SWITCH**2

TABLES = {
    "exp": Table(exp.EXP, mpmath.exp, (-_HALF_LN2, _HALF_LN2), -28.2, given={0: 1.0, 1: 1.0}),
    "exp2": Table(exp.EXP2, lambda x: mpmath.mpf(2) ** x, (-0.5, 0.5), -28.3, given={0: 1.0}),
    "expm1": Table(
        exp.EXPM1_TAIL,
        lambda x: (mpmath.expm1(x) - x) / x**2,
        (-_HALF_LN2, _HALF_LN2),
        -31.0,
        lambda x, tail: x / (1.0 + x * tail),
        {0: 0.5},
    ),
    "log": Table(log.LOG, log_tail(lambda x: x), _LOG, -27.0, log_weight, {0: -0.5}),
    "log2": Table(log._LOG2, log_tail(lambda x: x / mpmath.log(2)), _LOG, -27.0, log_weight),
    "log10": Table(log._LOG10, log_tail(lambda x: x / mpmath.log(10)), _LOG, -27.0, log_weight),
    "sin": Table(trig._SIN, odd_tail(mpmath.sin), (0, _QUARTER_PI**2), -32.0, odd_weight),
    "cos": Table(
        trig._COS,
        lambda t: (mpmath.cos(mpmath.sqrt(t)) - 1 + t / 2) / t**2,
        (0, _QUARTER_PI**2),
        -32.0,
        lambda t, tail: t**2 / (1.0 - t / 2 + t**2 * tail),
    ),
    "tan": Table(trig._TAN, odd_tail(mpmath.tan), (0, _QUARTER_PI**2), -29.0, odd_weight),
    "asin": Table(inverse_trig._ASIN, odd_tail(mpmath.asin), (0, 0.25), -31.0, odd_weight),
    "atan": Table(inverse_trig._ATAN, odd_tail(mpmath.atan), (0, 1), -28.0, odd_weight),
    "sinh": Table(hyperbolic._SINH, odd_tail(mpmath.sinh), (0, 1), -31.0, odd_weight),
    "erf below": Table(
        erf._SMALL,
        lambda t: mpmath.erf(mpmath.sqrt(t)) / mpmath.sqrt(t) - 1,
        (0, _ERF_END),
        -25.8,
        lambda t, tail: 1.0 / (1.0 + tail),
    ),
    "erf above": Table(
        erf.ERF_LARGE,
        lambda x: -mpmath.log(mpmath.erfc(x), 2),
        (erf.ERF_SWITCH, erf.ERF_HIGHEST),
        -28.8,
        lambda x, exponent: 2.0**-exponent,
    ),
    "erfc": Table(erf._ERFC, _erfc_times_exp, (-1, 0.66943), -25.9),
    "pow": Table(power._TAIL, _atanh_tail, (0, 0.1716**2), -36.7, lambda t, tail: t**2),
}


@pytest.mark.parametrize("name", TABLES)
def test_error_is_as_stated(name: str) -> None:
    table = TABLES[name]
    x, f = sample(table.function, table.interval)
    error = largest_error(table.as_f32(), x, f, table.weight(x, f))
    assert error <= 2.0**table.log2_error


@pytest.mark.parametrize("name", TABLES)
def test_no_polynomial_of_the_degree_is_much_better(name: str) -> None:
    table = TABLES[name]
    x, f = sample(table.function, table.interval)
    weights, degree = table.weight(x, f), len(table.coefficients) - 1
    found = {**table.given, **best_fit(x, f, weights, degree, table.given)}
    best = largest_error([found[power] for power in range(degree + 1)], x, f, weights)
    error = largest_error(table.as_f32(), x, f, weights)
    assert error <= max(1.5 * best, _GOOD_ENOUGH)


def test_a_fit_from_scratch_is_as_good() -> None:
    table = TABLES["exp"]
    found = fit(table.function, table.interval, len(table.coefficients) - 1, given=table.given)
    x, f = sample(table.function, table.interval)
    assert found[:2] == [1.0, 1.0]
    assert largest_error(found, x, f, relative(x, f)) <= 2.0**table.log2_error
