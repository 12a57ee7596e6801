# SPDX-License-Identifier: MIT OR Apache-2.0
"""Integer arithmetic has a value everywhere: no traps, no undefined results."""

from __future__ import annotations

import numpy as np
import pytest

INTEGERS = ["i8", "i16", "i32", "i64"]
RNG = np.random.default_rng(11)


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """All combinations of corner cases, and random pairs behind them."""
    info = np.iinfo(dtype)
    corners = np.array([info.min, info.min + 1, -7, -1, 0, 1, 2, 7, info.max - 1, info.max], dtype)
    left, right = (grid.ravel() for grid in np.meshgrid(corners, corners))
    more = RNG.integers(info.min, info.max, (2, 100), dtype, endpoint=True)
    small = RNG.integers(-9, 9, 100).astype(dtype)
    return np.concatenate([left, more[0]]), np.concatenate([right, small])


def exact(left: np.ndarray, right: np.ndarray, function) -> np.ndarray:
    """Apply `function` to Python integers and wrap, with 0 for division by zero."""
    bits = left.dtype.itemsize * 8
    values = [
        function(int(x), int(y)) if y else 0
        for x, y in zip(left.tolist(), right.tolist(), strict=True)
    ]
    return np.array([v & ((1 << bits) - 1) for v in values], np.uint64).astype(left.dtype)


def truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


SIGNED = {
    "divsi": truncated,
    "remsi": lambda x, y: x - y * truncated(x, y),
    "floordivsi": lambda x, y: x // y,
    "ceildivsi": lambda x, y: -(-x // y),
}
UNSIGNED = {
    "divui": lambda x, y: x // y,
    "remui": lambda x, y: x % y,
    "ceildivui": lambda x, y: -(-x // y),
}


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", SIGNED)
def test_signed_division(run_elementwise, dtypes, kind, name):
    x, y = pairs(dtypes[kind])
    result = run_elementwise(f"%r = arith.{name} %x0, %x1 : {kind}", kind, x, y)
    np.testing.assert_array_equal(result, exact(x, y, SIGNED[name]))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned_division(run_elementwise, dtypes, kind, name):
    x, y = pairs(dtypes[kind])
    unsigned = np.dtype(f"uint{x.dtype.itemsize * 8}")
    expected = exact(x.view(unsigned), y.view(unsigned), UNSIGNED[name])
    result = run_elementwise(f"%r = arith.{name} %x0, %x1 : {kind}", kind, x, y)
    np.testing.assert_array_equal(result.view(unsigned), expected)


@pytest.mark.parametrize("divisor", [-1, 0, 1, 3])
def test_division_by_a_constant(run_elementwise, dtypes, divisor):
    x, _ = pairs(dtypes["i32"])
    body = f"%d = arith.constant {divisor} : i32\n%r = arith.divsi %x0, %d : i32"
    expected = exact(x, np.full_like(x, divisor), truncated)
    np.testing.assert_array_equal(run_elementwise(body, "i32", x), expected)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", ["shli", "shrui", "shrsi"])
def test_shifts_by_any_amount(run_elementwise, dtypes, kind, name):
    x, _ = pairs(dtypes[kind])
    bits = x.dtype.itemsize * 8
    amount = np.resize([0, 1, bits - 1, bits, bits + 1, -1], len(x)).astype(x.dtype)
    result = run_elementwise(f"%r = arith.{name} %x0, %x1 : {kind}", kind, x, amount)
    mask = (1 << bits) - 1
    shift = {
        "shli": lambda v, n: v << n,
        "shrui": lambda v, n: (v & mask) >> n,
        "shrsi": lambda v, n: v >> n,
    }[name]
    whole = [
        shift(v, n & mask if n & mask < 200 else 200)
        for v, n in zip(x.tolist(), amount.tolist(), strict=True)
    ]
    expected = np.array([v & mask for v in whole], np.uint64).astype(x.dtype)
    np.testing.assert_array_equal(result, expected)


FLOATS = [0.0, -0.0, 0.5, -0.99, 1.5, -1.5, 126.99, 127.5, 128.0, 255.5, 256.0, -128.99, -129.0,
          32767.9, 32768.0, 65535.5, 65536.0, -32769.0, 2147483520.0, 2147483648.0, -2147483648.0,
          -2147483904.0, 4294967040.0, 4294967296.0, 9.2e18, 9.3e18, -9.3e18, 1.8e19, 1.9e19,
          1e38, -1e38, np.inf, -np.inf, np.nan]  # fmt: skip


def saturated(value: float, low: int, high: int) -> int:
    if np.isnan(value):
        return 0
    return high if value >= high + 1 else low if value < low else int(value)


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("signed", [True, False])
def test_float_to_integer_saturates(run_elementwise, dtypes, source, target, signed):
    with np.errstate(over="ignore"):
        x = np.array(FLOATS, np.float64).astype(dtypes[source])
    dtype = dtypes[target] if signed else np.dtype(f"u{dtypes[target]}")
    info = np.iinfo(dtype)
    name = "fptosi" if signed else "fptoui"
    body = f"%r = arith.{name} %x0 : {source} to {target}"
    result = run_elementwise(body, source, x, result=target).view(dtype)
    expected = [saturated(float(v), int(info.min), int(info.max)) for v in x]
    assert result.tolist() == [max(v, int(info.min)) for v in expected]
