# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arithmetic, against onnxruntime: dtypes, broadcasting, NaN, infinities, integer corner cases."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from harness import check, check_node, node_model, operators_model, run
from refusals import check_invalid

SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, -2.5, 1e30, -1e30, 1e-40, 3, -100],
    np.float32,
)
FLOAT_OPERATORS = ["Add", "Sub", "Mul", "Div", "Max", "Min"]
FLOATS = [np.float16, np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def pairs_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every value with every other."""
    left, right = np.meshgrid(values, values)
    return left.reshape(-1), right.reshape(-1)


def integers(rng: np.random.Generator, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_float_pairs_and_special_values() -> None:
    x, y = pairs_of(SPECIAL)
    check(operators_model([*FLOAT_OPERATORS, "Pow"], {"x": x, "y": y}), {"x": x, "y": y})


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_dtypes_broadcast(dtype: type, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 1, 5)).astype(dtype)
    y = rng.standard_normal((4, 1)).astype(dtype)
    model = operators_model(FLOAT_OPERATORS, {"x": x, "y": y})
    check(model, {"x": x, "y": y}, rtol=1e-3 if dtype is np.float16 else 1e-6)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(dtype: type, rng: np.random.Generator) -> None:
    x, y = integers(rng, dtype, (37,)), integers(rng, dtype, (37,))
    found = run(operators_model(["Add", "Sub", "Mul"], {"x": x, "y": y}), {"x": x, "y": y})
    for array, function in zip(found, (np.add, np.subtract, np.multiply), strict=True):
        np.testing.assert_array_equal(array, function(x, y))
        assert array.dtype == x.dtype


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_truncates(dtype: type, rng: np.random.Generator) -> None:
    x = integers(rng, dtype, (64,))
    y = integers(rng, dtype, (64,))
    y[y == 0] = 3
    y[:3] = [1, 2, 7]
    (found,) = run(node_model("Div", {"x": x, "y": y}), {"x": x, "y": y})
    wanted = [
        abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1)
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    assert found.tolist() == wanted


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_never_traps(dtype: type) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, info.min, 7, 0], dtype)
    y = np.array([0, info.max if info.min == 0 else -1, 0, 0], dtype)
    feeds = {"x": x, "y": y}
    (quotient,) = run(node_model("Div", feeds), feeds)
    np.testing.assert_array_equal(quotient, np.array([0, info.min, 0, 0], dtype))
    for fmod in (0, 1):
        (rest,) = run(node_model("Mod", feeds, fmod=fmod), feeds)
        np.testing.assert_array_equal(rest, np.zeros(4, dtype))


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32])
def test_mod_of_integers(dtype: type, fmod: int, rng: np.random.Generator) -> None:
    x = integers(rng, dtype, (7, 9))
    y = integers(rng, dtype, (9,))
    y[y == 0] = 5
    (found,) = run(node_model("Mod", {"x": x, "y": y}, fmod=fmod), {"x": x, "y": y})
    np.testing.assert_array_equal(found, (np.fmod if fmod else np.mod)(x, y))


def test_mod_by_a_constant(rng: np.random.Generator) -> None:
    x = rng.integers(-50, 50, (31,))
    check_node("Mod", {"x": x}, constants={"y": np.array(-7)})
    check_node("Mod", {"x": x}, constants={"y": np.array(7)}, fmod=1)
    check_node("Div", {"x": x}, constants={"y": np.array(7)})


def test_fmod_of_floats() -> None:
    x, y = pairs_of(SPECIAL)
    check_node("Mod", {"x": x, "y": y}, fmod=1)


def test_floor_mod_of_floats() -> None:
    x, y = pairs_of(SPECIAL[np.isfinite(SPECIAL)])
    (found,) = run(node_model("Mod", {"x": x, "y": y}, opset=28), {"x": x, "y": y})
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, np.mod(x, y), rtol=1e-6)


def test_floor_mod_of_floats_needs_a_new_opset() -> None:
    x = np.ones(3, np.float32)
    check_invalid("Mod", {"x": x, "y": x}, "fmod", opset=13)
    check_invalid("Mod", {"x": x, "y": x}, "neither", opset=28, fmod=2)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("op_type", ["Sum", "Mean", "Max", "Min"])
def test_variadic(op_type: str, count: int, rng: np.random.Generator) -> None:
    shapes = [(3, 5), (5,), (1, 1), (3, 1), ()]
    feeds = {f"x{i}": rng.standard_normal(shapes[i]).astype(np.float32) for i in range(count)}
    check_node(op_type, feeds)


def test_unary_special_values() -> None:
    operators = ["Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Reciprocal"]
    with np.errstate(over="ignore"):
        half = SPECIAL[~np.isnan(SPECIAL)].astype(np.float16)
    for x, rtol in ((SPECIAL, 1e-6), (SPECIAL.astype(np.float64), 1e-12), (half, 1e-3)):
        check(operators_model(operators, {"x": x}), {"x": x}, rtol=rtol)


def test_round_halves_to_even() -> None:
    halves = np.arange(-9, 10, dtype=np.float32) / 2
    (found,) = check_node("Round", {"x": halves})
    np.testing.assert_array_equal(found, np.rint(halves))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_unary_integers(dtype: type, rng: np.random.Generator) -> None:
    x = integers(rng, dtype, (40,))
    check(operators_model(["Neg", "Abs", "Sign"], {"x": x}), {"x": x})


def test_sign_and_abs_of_unsigned() -> None:
    x = np.array([0, 1, 200], np.uint8)
    check_node("Sign", {"x": x})
    check_node("Abs", {"x": x})


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_no_elements(shape: tuple[int, ...]) -> None:
    check_node("Add", {"x": np.ones(shape, np.float32), "y": np.ones(shape[-1:], np.float32)})
    check_node("Neg", {"x": np.ones(shape, np.float32)})


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, -1, 0.5, -0.5])
def test_pow_of_constant_exponents(exponent: float) -> None:
    constants = {"y": np.array(exponent, np.float32)}
    check_node("Pow", {"x": SPECIAL}, constants=constants)
    check_node("Pow", {"x": np.abs(SPECIAL)}, constants={"y": constants["y"].reshape(1, 1)})


@pytest.mark.parametrize("base", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("exponent", [np.float32, np.float64, np.int32, np.int64])
def test_pow_of_mixed_dtypes(base: type, exponent: type, rng: np.random.Generator) -> None:
    x = rng.integers(1, 6, (4, 5)).astype(base)
    y = rng.integers(0, 5, (5,)).astype(exponent)
    check_node("Pow", {"x": x, "y": y})


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_bit_shift(direction: str, dtype: type, rng: np.random.Generator) -> None:
    bits = np.iinfo(dtype).bits
    x = integers(rng, dtype, (3, 4))
    y = np.array([0, 1, bits - 1, bits], dtype)
    check_node("BitShift", {"x": x, "y": y}, direction=direction)


def test_bit_shift_of_signed_keeps_the_sign() -> None:
    x = np.array([-8, -8, 8, -1], np.int32)
    y = np.array([1, 40, 40, 31], np.int32)
    model = node_model("BitShift", {"x": x, "y": y}, opset=28, direction="RIGHT")
    np.testing.assert_array_equal(run(model, {"x": x, "y": y})[0], [-4, -1, 0, -1])
    check_invalid(
        "BitShift", {"x": x.view(np.uint32), "y": y.view(np.uint32)}, "UP", direction="UP"
    )


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bitwise(dtype: type, rng: np.random.Generator) -> None:
    x, y = integers(rng, dtype, (5, 3)), integers(rng, dtype, (3,))
    operators = ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]
    check(operators_model(operators, {"x": x, "y": y}), {"x": x, "y": y})
    check_node("BitwiseNot", {"x": x})


def test_bfloat16_rounds_once() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50).astype(ml_dtypes.bfloat16)
    y = rng.standard_normal(50).astype(ml_dtypes.bfloat16)
    for op_type, function in (("Add", np.add), ("Mul", np.multiply), ("Div", np.divide)):
        (found,) = run(node_model(op_type, {"x": x, "y": y}), {"x": x, "y": y})
        wanted = function(x.astype(np.float32), y.astype(np.float32)).astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_sums_of_many_inputs_round_once(dtype: type, count: int) -> None:
    rng = np.random.default_rng(count)
    inputs = {f"x{i}": rng.standard_normal((7, 33)).astype(dtype) for i in range(count)}
    total = sum(x.astype(np.float64) for x in inputs.values())
    for op_type, wanted in (("Sum", total), ("Mean", total / count)):
        (found,) = run(node_model(op_type, inputs), inputs)
        assert found.dtype == dtype
        exact = np.asarray(wanted, np.float32).astype(dtype)
        np.testing.assert_array_equal(found.astype(np.float64), exact.astype(np.float64))


def test_a_mean_of_large_halves_is_finite() -> None:
    inputs = {name: np.full(5, 60000, np.float16) for name in "xyz"}
    (found,) = run(node_model("Mean", inputs), inputs)
    np.testing.assert_array_equal(found, inputs["x"])


def test_shapes_must_broadcast() -> None:
    feeds = {"x": np.ones((2, 3), np.float32), "y": np.ones((2,), np.float32)}
    check_invalid("Add", feeds, "do not fit")


def test_types_must_agree() -> None:
    feeds = {"x": np.ones(3, np.float32), "y": np.ones(3, np.float64)}
    check_invalid("Add", feeds, "float64 where another of its type is float32")
