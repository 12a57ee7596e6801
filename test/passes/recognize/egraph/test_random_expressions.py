# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random expressions compute the same before and after they are simplified."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_expressions import TYPES, Profile, modules
from scalar_interpreter import DTYPES, Array, run
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.passes.recognize.egraph.simplify_expressions import SimplifyExpressions

pytest.importorskip("egglog")

_SPECIAL = {
    "f32": [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 3.4e38, -1e-45],
    "f64": [0.0, -0.0, -2.5, np.nan, np.inf, -np.inf, 1.7e308, 5e-324],
    "i32": [0, 1, -1, 7, -8, 2**31 - 1, -(2**31), 64],
    "i1": [False, True, True, False, True, False, False, True],
}
_ORDINARY = {
    "f32": [0.5, 1.0, 1.7, 2.25, 3.1, 0.9, 1.01, 4.0],
    "f64": [0.7, 1.0, 1.9, 2.5, 3.3, 0.8, 1.02, 5.0],
    "i32": [0, 1, 2, 7, 8, 31, 5, 64],
    "i1": _SPECIAL["i1"],
}
_SETTINGS = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
_POSITIVE = Profile(
    kinds=("float", "select", "compare"),
    float_operations=("addf", "mulf", "divf", "maximumf", "sqrt", "copy"),
    float_constants=("1.0", "2.0", "0.5", "3.0", "0.1", "1.7", "0.0"),
    special=False,
)


@cache
def _context() -> ir.Context:
    return make_context()


@pytest.fixture(autouse=True)
def _in_context() -> Iterator[None]:
    with _context(), ir.Location.unknown(_context()):
        yield


def _before_and_after(text: str, math: str, inputs: list[Array]) -> Iterator[tuple[Array, Array]]:
    with _context(), ir.Location.unknown(_context()):
        module = ir.Module.parse(text)
        function = module.body.operations[0].operation
        before = run(function, inputs)
        SimplifyExpressions(math=math).run(module.operation)  # type: ignore[arg-type]
        assert module.operation.verify()
        assert "xyntra.remarks" not in function.attributes
        after = run(function, inputs)
    yield from zip(before, after, strict=True)


def _inputs(values: dict[str, list[float]]) -> list[Array]:
    arrays = ((np.array(values[t]).astype(DTYPES[t]), t) for t in TYPES)
    return [a for array, _ in arrays for a in (array, np.roll(array, 3))]


def _same_bits(a: Array, b: Array) -> bool:
    if a.dtype.kind != "f":
        return bool((a == b).all())
    nans = np.isnan(a) & np.isnan(b)
    return bool((nans | ((a == b) & (np.signbit(a) == np.signbit(b)))).all())


@_SETTINGS
@given(modules(Profile()))
def test_exact_rules_keep_every_bit(text: str) -> None:
    for before, after in _before_and_after(text, "exact", _inputs(_SPECIAL)):
        assert _same_bits(before, after), f"{before} became {after}"


@_SETTINGS
@given(modules(_POSITIVE))
def test_reordering_rules_round_otherwise_and_no_more(text: str) -> None:
    for before, after in _before_and_after(text, "reorder", _inputs(_ORDINARY)):
        tolerance = 64 * np.finfo(before.dtype).eps if before.dtype.kind == "f" else 0
        assert np.allclose(before, after, rtol=tolerance, atol=0, equal_nan=True)


@_SETTINGS
@given(modules(_POSITIVE))
def test_fast_rules_are_equal_over_the_reals(text: str) -> None:
    # Selections turn on comparisons of numbers that differ by roundings: leave those out.
    if "cmpf" in text:
        return
    for before, after in _before_and_after(text, "fast", _inputs(_ORDINARY)):
        if before.dtype.kind == "f":
            tolerance = 256 * np.finfo(before.dtype).eps
            finite = np.isfinite(before) & (np.abs(before) < 1e30)
            assert np.allclose(before[finite], after[finite], rtol=tolerance, atol=1e-30)
