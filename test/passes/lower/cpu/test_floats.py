# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every float type: rounding of conversions, NaN, infinities and signed zeros."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

RNG = np.random.default_rng(5)
FLOATS = ["f64", "f32", "f16", "bf16"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-8, -3e-5, 7e4, 2.5]


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.dtype(f"uint{array.dtype.itemsize * 8}"))


def same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, where any NaN equals any other."""
    assert actual.dtype == expected.dtype
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nan)
    np.testing.assert_array_equal(bits(actual)[~nan], bits(expected)[~nan])


def halfway_doubles(dtype: np.dtype) -> np.ndarray:
    """Doubles at, just above and just below the midpoints of a 16-bit format, of both signs."""
    values = np.arange(0, 1 << 15, 7, dtype=np.uint16).view(dtype).astype(np.float64)
    following = np.arange(1, (1 << 15) + 1, 7, dtype=np.uint16).view(dtype).astype(np.float64)
    finite = np.isfinite(values) & np.isfinite(following)
    middle = (values[finite] + following[finite]) / 2
    near = [middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
    all_of_them = np.concatenate(
        [*near, np.array([1e300, 1e-300, 65520.0, 65519.99, np.nan, np.inf])]
    )
    return np.concatenate([all_of_them, -all_of_them])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_double_to_half_rounds_once(run_elementwise):
    x = halfway_doubles(np.dtype(np.float16))
    result = run_elementwise("%r = arith.truncf %x0 : f64 to f16", "f64", x, result="f16")
    same(result, x.astype(np.float16))


def nearest_bfloat16(x: np.ndarray) -> np.ndarray:
    """Round doubles to bfloat16 once, by exact search among the two neighbours."""
    with np.errstate(over="ignore"):
        down = (bits(x.astype(np.float32)) & 0xFFFF0000).astype(np.uint32)
    steps = (down[:, None].astype(np.int64) + np.array([-1, 0, 1, 2]) * 0x10000).clip(0, 2**32 - 1)
    candidates = steps.astype(np.uint32)
    values = candidates.view(np.float32).astype(np.float64)
    values = np.where(np.isinf(values), np.sign(values) * 2.0**128, values)
    distance = np.abs(values - x[:, None])
    distance = np.where(
        np.isnan(distance) | (np.signbit(values) != np.signbit(x)[:, None]), np.inf, distance
    )
    odd = (candidates >> 16) & 1
    best = np.lexsort((odd, distance), axis=1)[:, 0]
    chosen = candidates[np.arange(len(x)), best]
    return (chosen >> 16).astype(np.uint16).view(ml_dtypes.bfloat16)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_double_to_bfloat16_rounds_once(run_elementwise):
    x = halfway_doubles(np.dtype(ml_dtypes.bfloat16))
    x = x[np.isfinite(x) & (np.abs(x) < 1e39)]
    result = run_elementwise("%r = arith.truncf %x0 : f64 to bf16", "f64", x, result="bf16")
    same(result, nearest_bfloat16(x))


def all_patterns(dtype: np.dtype) -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_every_pattern_widens_exactly(run_elementwise, dtypes, kind):
    """Subnormals, infinities and payloads of NaN included; a signalling NaN may become quiet."""
    x = all_patterns(dtypes[kind])
    wide = run_elementwise(f"%r = arith.extf %x0 : {kind} to f32", kind, x, result="f32")
    quiet = np.where(np.isnan(x), np.uint32(1 << 22), np.uint32(0))
    wanted = bits(x.astype(np.float32)) | quiet
    np.testing.assert_array_equal(bits(wide) | quiet, wanted)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_every_pattern_comes_back(run_elementwise, dtypes, kind):
    x = all_patterns(dtypes[kind])
    wide = x.astype(np.float32)
    found = run_elementwise(f"%r = arith.truncf %x0 : f32 to {kind}", "f32", wide, result=kind)
    same(found, x)
    # A NaN keeps its sign and its payload, and is quiet.
    nan, top = np.isnan(x), np.uint16(1 << (9 if kind == "f16" else 6))
    np.testing.assert_array_equal(found.view(np.uint16)[nan], x.view(np.uint16)[nan] | top)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_singles_round_to_nearest_even(run_elementwise, dtypes, kind):
    """All midpoints between neighbours, what is next to them, and overflow; then random bits."""
    dtype = dtypes[kind]
    values = all_patterns(dtype).astype(np.float32)
    values = np.sort(values[np.isfinite(values) & (values >= 0)])
    middle = ((values[:-1].astype(np.float64) + values[1:]) / 2).astype(np.float32)
    last = np.float32(values[-1] + (values[-1] - values[-2]) / 2)
    exact = np.concatenate([middle, [last, np.float32(np.inf)]])
    near = [exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(0))]
    x = np.concatenate([*near, *(-each for each in near)]).astype(np.float32)
    x = np.concatenate(
        [x, RNG.integers(0, 1 << 32, 4000, np.uint64).astype(np.uint32).view(np.float32)]
    )
    result = run_elementwise(f"%r = arith.truncf %x0 : f32 to {kind}", "f32", x, result=kind)
    same(result, x.astype(dtype))


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", ["i1", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("signed", [True, False])
def test_integer_to_float(run_elementwise, dtypes, source, target, signed):
    if source == "i1" and signed:
        pytest.skip("a boolean is unsigned")
    dtype = dtypes[source]
    if source == "i1":
        x = np.array([True, False, True])
    else:
        info = np.iinfo(dtype)
        x = RNG.integers(info.min, info.max, 50, dtype, endpoint=True)
        x = np.concatenate([x, np.array([0, 1, info.min, info.max, 77], dtype)])
    name = "sitofp" if signed else "uitofp"
    body = f"%r = arith.{name} %x0 : {source} to {target}"
    result = run_elementwise(body, source, x, result=target)
    values = x if signed or source == "i1" else x.view(np.dtype(f"u{dtype}"))
    through = values.astype(np.float32) if target in ("f16", "bf16") else values
    with np.errstate(over="ignore"):
        same(result, through.astype(dtypes[target]))


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("divf", np.divide),
        ("maximumf", np.maximum),
        ("minimumf", np.minimum),
        ("maxnumf", np.fmax),
        ("minnumf", np.fmin),
        ("remf", np.fmod),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arithmetic_rounds_to_its_type(run_elementwise, dtypes, kind, name, function):
    dtype = dtypes[kind]
    x, y = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))
    x = np.concatenate([x, RNG.standard_normal(50) * 10]).astype(dtype)
    y = np.concatenate([y, RNG.standard_normal(50)]).astype(dtype)
    wide = np.float64 if kind == "f64" else np.float32
    expected = function(x.astype(wide), y.astype(wide)).astype(dtype)
    result = run_elementwise(f"%r = arith.{name} %x0, %x1 : {kind}", kind, x, y)
    if "m" in name[:2]:  # which zero a minimum or maximum of both zeros is, numpy leaves open
        zero = expected == 0
        assert (result[zero] == 0).all()
        result, expected = result[~zero], expected[~zero]
    same(result, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("predicate", ["oeq", "une", "olt", "uge", "ord", "uno", "one", "ueq"])
def test_comparisons_with_nan(run_elementwise, dtypes, kind, predicate):
    x, y = (grid.ravel().astype(dtypes[kind]) for grid in np.meshgrid(SPECIAL, SPECIAL))
    body = f"%r = arith.cmpf {predicate}, %x0, %x1 : {kind}"
    result = run_elementwise(body, kind, x, y, result="i1")
    a, b = x.astype(np.float64), y.astype(np.float64)
    nan = np.isnan(a) | np.isnan(b)
    expected = {
        "oeq": a == b,
        "une": a != b,
        "olt": a < b,
        "uge": (a >= b) | nan,
        "ord": ~nan,
        "uno": nan,
        "one": (a != b) & ~nan,
        "ueq": (a == b) | nan,
    }[predicate]
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("sqrt", np.sqrt),
        ("sin", np.sin),
        ("tan", np.tan),
        ("atan", np.arctan),
        ("asinh", np.arcsinh),
        ("floor", np.floor),
        ("ceil", np.ceil),
        ("trunc", np.trunc),
        ("roundeven", np.rint),
        ("absf", np.abs),
        ("exp", np.exp),
        ("tanh", np.tanh),
        ("log", np.log),
        ("log1p", np.log1p),
        ("expm1", np.expm1),
        ("erf", np.vectorize(math.erf)),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("cbrt", np.cbrt),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions(run_elementwise, dtypes, kind, name, function):
    dtype = dtypes[kind]
    x = np.concatenate([SPECIAL, RNG.standard_normal(50) * 3]).astype(dtype)
    result = run_elementwise(f"%r = math.{name} %x0 : {kind}", kind, x)
    expected = function(x.astype(np.float64)).astype(dtype)
    tolerance = {"f64": 1e-14, "f32": 1e-6, "f16": 2e-3, "bf16": 1.6e-2}[kind]
    np.testing.assert_allclose(
        result.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=0
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_sum_keeps_nan_and_infinities(compiled):
    text = """
    func.func @k(%a: tensor<5x67xf32>) -> tensor<5xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<5xf32>
      %f = linalg.fill ins(%z: f32) outs(%e: tensor<5xf32>) -> tensor<5xf32>
      %q = linalg.reduce { arith.addf } ins(%a: tensor<5x67xf32>) outs(%f: tensor<5xf32>)
        dimensions = [1]
      return %q : tensor<5xf32>
    }"""
    x = RNG.standard_normal((5, 67)).astype(np.float32)
    x[1, 5], x[2, 66], x[3, 1], x[3, 2] = np.nan, np.inf, np.inf, -np.inf
    result = compiled(text)(x)[0]
    np.testing.assert_allclose(result, x.sum(1), rtol=1e-5, atol=1e-5)
    assert np.isnan(result[[1, 3]]).all()
    assert np.isinf(result[2])
