# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions, arg-extremes and Hardmax, against onnxruntime and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import check_node, node_model, operators_model, run
from refusals import check_invalid, check_unsupported

OPERATORS = [
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare",
]  # fmt: skip


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(7).uniform(0.5, 2, (3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("axes", [None, [-1], [0, 2]])
@pytest.mark.parametrize("op_type", OPERATORS)
def test_axes_input(op_type: str, axes: list[int] | None, x: np.ndarray) -> None:
    constants = {} if axes is None else {"axes": np.array(axes)}
    keepdims = len(axes or []) % 2
    check_node(op_type, {"x": x}, constants=constants, keepdims=keepdims, rtol=1e-5)


@pytest.mark.parametrize("op_type", OPERATORS)
def test_axes_attribute(op_type: str, x: np.ndarray) -> None:
    check_node(op_type, {"x": x}, opset=11, axes=[-2], keepdims=0)
    check_node(op_type, {"x": x}, opset=11)


@pytest.mark.parametrize("op_type", OPERATORS)
def test_no_axes_may_mean_no_reduction(op_type: str, x: np.ndarray) -> None:
    constants = {"axes": np.array([], np.int64)}
    check_node(op_type, {"x": x}, constants=constants, noop_with_empty_axes=0)
    check_node("ReduceSum", {"x": x}, constants=constants, noop_with_empty_axes=1)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(
    "op_type", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1"]
)
def test_integers(op_type: str, dtype: type) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (7, 5)).astype(dtype)
    check_node(op_type, {"x": x}, constants={"axes": np.array([0])})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceMin"])
def test_extremes_of_bytes(op_type: str, dtype: type) -> None:
    x = np.arange(-128, 127, dtype=np.int16).astype(dtype).reshape(5, 51)
    check_node(op_type, {"x": x}, constants={"axes": np.array([1])})


@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceProd", "ReduceSumSquare"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_in_rows_of_every_length(op_type: str, dtype: type) -> None:
    for length in (1, 2, 3, 7, 8, 9, 16, 24, 33):
        x = np.random.default_rng(length).integers(-9, 9, (3, length)).astype(dtype)
        (found,) = run(node_model(op_type, {"x": x}, opset=11, keepdims=0, axes=[1]), {"x": x})
        values = x * x if op_type == "ReduceSumSquare" else x
        function = np.prod if op_type == "ReduceProd" else np.sum
        wanted = function(values, 1, dtype=dtype)
        np.testing.assert_array_equal(found, wanted, err_msg=str(length))


def test_extremes_of_booleans() -> None:
    x = np.array([[True, False], [False, False]])
    for op_type, function in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        (found,) = run(
            node_model(op_type, {"x": x}, constants={"axes": np.array([1])}, keepdims=0), {"x": x}
        )
        np.testing.assert_array_equal(found, function(x, axis=1))


def test_means_of_integers_truncate() -> None:
    x = np.array([[-3, -4], [3, 4]], np.int32)
    check_node("ReduceMean", {"x": x}, constants={"axes": np.array([1])})


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats(dtype: type, x: np.ndarray) -> None:
    narrow, wide = {"x": x.astype(dtype)}, {"x": x.astype(dtype).astype(np.float64)}
    found = run(operators_model(OPERATORS, narrow), narrow)
    exact = run(operators_model(OPERATORS, wide), wide)
    for mine, theirs in zip(found, exact, strict=True):
        assert mine.dtype == dtype
        rtol = 2e-3 if dtype is np.float16 else 0
        np.testing.assert_allclose(mine.astype(np.float64), theirs, rtol=rtol)


def test_half_accumulates_wide() -> None:
    x = np.full((1, 4096), 1, np.float16)
    (found,) = run(node_model("ReduceSum", {"x": x}), {"x": x})
    assert found.item() == 4096


def test_nan_propagates_through_extremes() -> None:
    x = np.array([[1, np.nan, 3], [np.nan, 2, 1], [1, 2, np.nan]], np.float32)
    for op_type in ("ReduceMax", "ReduceMin"):
        (found,) = run(node_model(op_type, {"x": x}, constants={"axes": np.array([1])}), {"x": x})
        assert np.isnan(found).all()


def test_log_sum_exp_does_not_overflow() -> None:
    x = np.array([[1000, 1000], [-1000, -1001], [-np.inf, -np.inf], [np.inf, 1]], np.float32)
    check_node("ReduceLogSumExp", {"x": x}, constants={"axes": np.array([1])})


@pytest.mark.parametrize(
    "op_type", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2"]
)
def test_reductions_of_nothing(op_type: str) -> None:
    check_node(op_type, {"x": np.zeros((0, 3), np.float32)}, constants={"axes": np.array([0])})
    check_node(op_type, {"x": np.zeros((0, 3), np.float32)}, constants={"axes": np.array([1])})


def test_mean_of_nothing_is_nan() -> None:
    x = np.zeros((0, 3), np.float32)
    (found,) = run(node_model("ReduceMean", {"x": x}, constants={"axes": np.array([0])}), {"x": x})
    assert np.isnan(found).all()


def test_scalars() -> None:
    check_node("ReduceSum", {"x": np.array(3, np.float32)})


def test_wrong_axes(x: np.ndarray) -> None:
    check_invalid("ReduceSum", {"x": x}, "outside", constants={"axes": np.array([3])})
    check_invalid("ReduceSum", {"x": x}, "twice", constants={"axes": np.array([0, -3])})
    check_unsupported("ReduceSum", {"x": x, "axes": np.array([1])}, "must be a constant")


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_arg_extremes(op_type: str, axis: int, last: int) -> None:
    x = np.random.default_rng(1).integers(0, 4, (3, 6, 5)).astype(np.float32)
    check_node(op_type, {"x": x}, axis=axis, select_last_index=last, keepdims=last)
    check_node(op_type, {"x": x.astype(np.int32)}, axis=axis, select_last_index=last)


def test_arg_extremes_of_infinities() -> None:
    x = np.array([[-np.inf, -np.inf], [np.inf, np.inf]], np.float32)
    check_node("ArgMax", {"x": x}, axis=1)
    check_node("ArgMin", {"x": x}, axis=1)


def test_the_first_nan_wins() -> None:
    x = np.array([[1, np.nan, 3, np.nan], [np.nan, 9, -9, 1], [1, 2, 3, 4]], np.float32)
    for op_type, function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        (found,) = run(node_model(op_type, {"x": x}, axis=1, keepdims=0), {"x": x})
        np.testing.assert_array_equal(found, function(x, axis=1))


@pytest.mark.parametrize(("op_type", "function"), [("ArgMax", np.argmax), ("ArgMin", np.argmin)])
@pytest.mark.parametrize("length", [11, 12, 31, 45, 200])
def test_arg_extremes_of_long_rows(op_type: str, function: Any, length: int) -> None:
    x = np.random.default_rng(length).integers(-9, 9, (4, 2, length)).astype(np.float32)
    x[0, 0, 7], x[0, 0, -1], x[0, 1] = np.nan, np.nan, np.nan
    x[1, 0], x[1, 1] = np.inf, -np.inf
    x[2, 0] = np.where(np.arange(length) % 2, 0.0, -0.0)
    (found,) = run(node_model(op_type, {"x": x}, axis=-1, keepdims=0), {"x": x})
    np.testing.assert_array_equal(found, function(x, axis=-1))
    for dtype in (np.float64, np.int8, np.uint8, np.int64):
        whole = np.nan_to_num(x, posinf=9, neginf=-9).astype(dtype)
        (found,) = run(node_model(op_type, {"x": whole}, axis=-1, keepdims=0), {"x": whole})
        np.testing.assert_array_equal(found, function(whole, axis=-1))


@pytest.mark.parametrize(("op_type", "function"), [("ArgMax", np.argmax), ("ArgMin", np.argmin)])
@pytest.mark.parametrize("shape", [(50, 1), (3, 40, 1, 1), (3, 5, 1, 1), (7, 1, 6), (9, 1)])
def test_arg_extremes_beside_dimensions_of_one(
    op_type: str, function: Any, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng().integers(-9, 9, shape).astype(np.float32)
    x.flat[3] = np.nan
    for axis in range(len(shape)):
        for keepdims in (0, 1):
            model = node_model(op_type, {"x": x}, axis=axis, keepdims=keepdims)
            (found,) = run(model, {"x": x})
            expected = function(x, axis=axis, keepdims=bool(keepdims))
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == np.int64
    whole = np.nan_to_num(x)
    for axis in range(len(shape)):
        check_node(op_type, {"x": whole}, axis=axis, select_last_index=1)


def test_arg_extreme_of_nothing() -> None:
    check_invalid("ArgMax", {"x": np.zeros((0, 2), np.float32)}, "no elements", axis=0)
    check_node("ArgMax", {"x": np.zeros((3, 0), np.float32)}, axis=0)


@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (11, 1), (11, 2)])
def test_hardmax(opset: int, axis: int) -> None:
    x = np.random.default_rng(2).integers(0, 3, (2, 3, 4)).astype(np.float32)
    check_node("Hardmax", {"x": x}, opset=opset, axis=axis)
